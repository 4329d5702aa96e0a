// A reader of protocol buffer messages, field by field
// (developers.google.com/protocol-buffers/docs/encoding).
#pragma once

#include <cstdint>
#include <string_view>

namespace trnplan {

/// The little-endian number at the start of `bytes`. Requires: `bytes` is at least that long.
template <class Unsigned>
Unsigned little_endian(std::string_view bytes) {
  Unsigned value = 0;
  for (std::size_t i = sizeof(Unsigned); i-- > 0;) {
    value = static_cast<Unsigned>((value << 8) | static_cast<unsigned char>(bytes[i]));
  }
  return value;
}

/// The fields of one message. Use: WireReader fields(bytes); while (fields.next()) switch (fields.field) ...
class WireReader {
 public:
  enum class Wire { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

  explicit WireReader(std::string_view message) : rest_(message) {}

  /// Reads the next field. Returns false at the end and at a fault: a cut field, a group, field number 0.
  bool next();
  bool failed() const { return failed_; }

  int field = 0;
  Wire wire = Wire::varint;
  std::uint64_t number = 0;  ///< value of varint, fixed64 or fixed32
  std::string_view bytes;    ///< value of bytes

  double real() const;  ///< value of fixed64 as a double, of fixed32 as a float

 private:
  bool varint(std::uint64_t& value);
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace trnplan
