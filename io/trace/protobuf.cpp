#include "io/trace/protobuf.h"

#include <bit>

namespace trnplan::io {

namespace {

constexpr unsigned kVarint = 0, kFixed64 = 1, kLength = 2;

}  // namespace

void add_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void ProtoMessage::tag(int field, unsigned wire) {
  add_varint(bytes_, static_cast<std::uint64_t>(field) << 3 | wire);
}

ProtoMessage& ProtoMessage::number(int field, std::uint64_t value) {
  tag(field, kVarint);
  add_varint(bytes_, value);
  return *this;
}

ProtoMessage& ProtoMessage::fixed64(int field, std::uint64_t value) {
  tag(field, kFixed64);
  for (int i = 0; i < 8; ++i, value >>= 8) bytes_ += static_cast<char>(value);
  return *this;
}

ProtoMessage& ProtoMessage::real(int field, double value) {
  return fixed64(field, std::bit_cast<std::uint64_t>(value));
}

ProtoMessage& ProtoMessage::text(int field, std::string_view value) {
  tag(field, kLength);
  add_varint(bytes_, value.size());
  bytes_ += value;
  return *this;
}

ProtoMessage& ProtoMessage::packed(int field, const std::vector<std::uint32_t>& values) {
  if (values.empty()) return *this;
  std::string all;
  for (const std::uint32_t v : values) add_varint(all, v);
  return text(field, all);
}

}  // namespace trnplan::io
