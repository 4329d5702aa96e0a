// Writes protocol buffer messages, field by field (developers.google.com/protocol-buffers/docs/encoding).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::io {

/// A message under construction. Fields are written in the order in which they are added, zeros included: the
/// caller leaves out fields that the format leaves out.
class ProtoMessage {
 public:
  /// Adds an int32, int64, uint32, uint64, enum or bool; negative numbers as their 64-bit two's complement.
  ProtoMessage& number(int field, std::uint64_t value);
  ProtoMessage& fixed64(int field, std::uint64_t value);
  ProtoMessage& real(int field, double value);
  /// Adds a string or bytes.
  ProtoMessage& text(int field, std::string_view value);
  ProtoMessage& message(int field, const ProtoMessage& value) { return text(field, value.bytes()); }
  /// Adds repeated numbers, packed as in proto3; nothing if there are none.
  ProtoMessage& packed(int field, const std::vector<std::uint32_t>& values);

  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, unsigned wire);
  std::string bytes_;
};

/// Appends `value` in base 128, least significant part first.
void add_varint(std::string& out, std::uint64_t value);

}  // namespace trnplan::io
