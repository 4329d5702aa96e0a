#include "logs/profile/thrift.h"

#include <limits>

namespace trnplan::logs {

namespace {

constexpr int kDeepest = 32;
constexpr int kVarintBits = 64;

}  // namespace

std::uint8_t ThriftReader::byte() {
  if (failed_ || at_ == bytes_.size()) {
    fail();
    return 0;
  }
  return static_cast<std::uint8_t>(bytes_[at_++]);
}

std::uint64_t ThriftReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < kVarintBits; shift += 7) {
    const std::uint8_t next = byte();
    if (shift == kVarintBits - 1 && next > 1) break;  // beyond 64 bits
    value |= std::uint64_t{next & 0x7fU} << shift;
    if ((next & 0x80U) == 0) return value;
  }
  fail();
  return 0;
}

std::int64_t ThriftReader::zigzag() {
  const std::uint64_t folded = varint();
  return static_cast<std::int64_t>((folded >> 1) ^ (0 - (folded & 1)));
}

ThriftReader::Kind ThriftReader::kind_of(unsigned nibble) {
  if (nibble > static_cast<unsigned>(Kind::uuid)) {
    fail();
    return Kind::stop;
  }
  return static_cast<Kind>(nibble);
}

bool ThriftReader::deeper() {
  if (++depth_ > kDeepest) fail();
  return !failed_;
}

bool ThriftReader::next_field(std::int64_t& id) {
  const std::uint8_t header = byte();
  if (failed_ || header == 0) return false;
  kind_ = kind_of(header & 0x0fU);
  id = header >> 4 != 0 ? id + (header >> 4) : zigzag();
  constexpr std::int64_t kLast = 32767;
  if (kind_ == Kind::stop || id < 0 || id > kLast) fail();
  return !failed_;
}

bool ThriftReader::open_list(Kind& element, std::uint64_t& count) {
  constexpr unsigned kLong = 15;
  const std::uint8_t header = byte();
  element = kind_of(header & 0x0fU);
  count = header >> 4 == kLong ? varint() : header >> 4;
  if (count > bytes_.size() - at_ || (count > 0 && element == Kind::stop)) fail();
  return !failed_ && deeper();
}

ThriftReader::Kind ThriftReader::element_kind(Kind stated) {
  if (stated != Kind::yes && stated != Kind::no) return stated;
  return byte() == 1 ? Kind::yes : Kind::no;
}

void ThriftReader::pass(std::uint64_t count) {
  if (count > bytes_.size() - at_) return fail();
  at_ += static_cast<std::size_t>(count);
}

void ThriftReader::skip_map() {
  const std::uint64_t count = varint();
  if (failed_ || count == 0) return;
  const std::uint8_t kinds = byte();
  const Kind key = kind_of(kinds >> 4), value = kind_of(kinds & 0x0fU);
  if (count > bytes_.size() - at_ || key == Kind::stop || value == Kind::stop || !deeper()) return fail();
  for (std::uint64_t i = 0; i < count && !failed_; ++i) {
    for (const Kind kind : {key, value}) {
      kind_ = element_kind(kind);
      skip();
    }
  }
  --depth_;
}

void ThriftReader::skip() {
  unread_ = false;
  constexpr std::uint64_t kReal = 8, kUuid = 16;
  switch (kind_) {
    case Kind::stop:
      return fail();
    case Kind::yes:
    case Kind::no:
      return;
    case Kind::byte:
      return pass(1);
    case Kind::i16:
    case Kind::i32:
    case Kind::i64:
      varint();
      return;
    case Kind::real:
      return pass(kReal);
    case Kind::bytes:
      return pass(varint());
    case Kind::list:
    case Kind::set:
      kind_ = Kind::list;
      return list([] {});
    case Kind::map:
      return skip_map();
    case Kind::structure:
      return structure([](int) {});
    case Kind::uuid:
      return pass(kUuid);
  }
}

std::int64_t ThriftReader::whole() {
  unread_ = false;
  if (kind_ == Kind::byte) return static_cast<std::int8_t>(byte());
  if (kind_ == Kind::i16 || kind_ == Kind::i32 || kind_ == Kind::i64) return zigzag();
  fail();
  return 0;
}

int ThriftReader::number() {
  const std::int64_t value = whole();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) fail();
  return failed_ ? 0 : static_cast<int>(value);
}

bool ThriftReader::truth() {
  unread_ = false;
  if (kind_ != Kind::yes && kind_ != Kind::no) fail();
  return kind_ == Kind::yes;
}

std::string_view ThriftReader::text() {
  unread_ = false;
  const std::size_t length = kind_ == Kind::bytes ? static_cast<std::size_t>(varint()) : 0;
  if (kind_ != Kind::bytes || failed_ || length > bytes_.size() - at_) {
    fail();
    return {};
  }
  const std::string_view found = bytes_.substr(at_, length);
  at_ += length;
  return found;
}

}  // namespace trnplan::logs
