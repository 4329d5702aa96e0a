// Reads protocol buffer messages, field by field (developers.google.com/protocol-buffers/docs/encoding).
#pragma once

#include <cstdint>
#include <string_view>

namespace trnplan {

/// A little-endian number of N bytes at the start of `bytes`, which has as many.
template <class Unsigned>
Unsigned little_endian(std::string_view bytes) {
  Unsigned value = 0;
  for (std::size_t i = sizeof(Unsigned); i-- > 0;) {
    value = static_cast<Unsigned>((value << 8) | static_cast<unsigned char>(bytes[i]));
  }
  return value;
}

/// Use: WireReader fields(bytes); while (fields.next()) switch (fields.field) ...
class WireReader {
 public:
  enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  explicit WireReader(std::string_view message) : rest_(message) {}

  /// False at the end, and at a fault: a cut field, a group, field number 0.
  bool next();
  bool failed() const { return failed_; }

  int field = 0;
  Wire wire = Wire::varint;
  std::uint64_t number = 0;  ///< varint, fixed64, fixed32
  std::string_view bytes;    ///< bytes

  double real() const;  ///< a double (fixed64) or a float (fixed32)

 private:
  bool varint(std::uint64_t& value);
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace trnplan
