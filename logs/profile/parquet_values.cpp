#include "logs/profile/parquet_values.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "text/wire_reader.h"

namespace trnplan::logs {

namespace {

constexpr int kByte = 8, kWidestIndex = 32, kWidestDelta = 64;
constexpr std::uint64_t kLongestRun = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kLargestBlock = 1U << 20U;

bool varint(std::string_view& rest, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80U) return true;
  }
  return false;
}

bool zigzag(std::string_view& rest, std::uint64_t& value) {
  if (!varint(rest, value)) return false;
  value = (value >> 1) ^ (0 - (value & 1));
  return true;
}

/// The `width` bits that start at `bit`, least significant first; false where the bytes end before.
bool bits_at(std::string_view bytes, std::uint64_t bit, int width, std::uint64_t& value) {
  value = 0;
  if (bit + static_cast<std::uint64_t>(width) > bytes.size() * kByte) return false;
  auto at = static_cast<std::size_t>(bit / kByte);
  int have = -static_cast<int>(bit % kByte);
  while (have < width) {
    const std::uint64_t byte = static_cast<unsigned char>(bytes[at++]);
    value |= have < 0 ? byte >> -have : byte << have;
    have += kByte;
  }
  if (width < kWidestDelta) value &= (std::uint64_t{1} << width) - 1;
  return true;
}

template <class Unsigned>
bool take(std::string_view& rest, Unsigned& value) {
  if (rest.size() < sizeof(Unsigned)) return false;
  value = little_endian<Unsigned>(rest);
  rest.remove_prefix(sizeof(Unsigned));
  return true;
}

/// A value as PLAIN has it, except of a bool.
bool plain(ParquetType type, std::string_view& rest, ParquetValue& out) {
  std::uint32_t four = 0;
  std::uint64_t eight = 0;
  out.kind = ParquetValue::Kind::whole;
  switch (type) {
    case ParquetType::int32:
      if (!take(rest, four)) return false;
      out.whole = static_cast<std::int32_t>(four);
      return true;
    case ParquetType::int64:
      if (!take(rest, eight)) return false;
      out.whole = static_cast<std::int64_t>(eight);
      return true;
    case ParquetType::float32:
      out.kind = ParquetValue::Kind::real;
      if (!take(rest, four)) return false;
      out.real = std::bit_cast<float>(four);
      return true;
    case ParquetType::float64:
      out.kind = ParquetValue::Kind::real;
      if (!take(rest, eight)) return false;
      out.real = std::bit_cast<double>(eight);
      return true;
    case ParquetType::bytes:
      out.kind = ParquetValue::Kind::text;
      if (!take(rest, four) || four > rest.size()) return false;
      out.text = rest.substr(0, four);
      rest.remove_prefix(four);
      return true;
    case ParquetType::boolean:
    case ParquetType::int96:
    case ParquetType::fixed_bytes:
      return false;
  }
  return false;
}

}  // namespace

bool RunReader::open_run() {
  std::uint64_t header = 0;
  if (!varint(rest_, header) || header / 2 == 0 || header / 2 > kLongestRun) return false;
  is_packed_ = header % 2 == 1;
  left_ = header / 2;
  if (is_packed_) {
    const std::uint64_t bytes = left_ * static_cast<std::uint64_t>(width_);
    left_ *= kByte;
    bit_ = 0;
    packed_ = rest_.substr(0, std::min<std::uint64_t>(bytes, rest_.size()));
    rest_.remove_prefix(packed_.size());
    return true;
  }
  const auto bytes = static_cast<std::size_t>((width_ + kByte - 1) / kByte);
  std::uint64_t value = 0;
  if (bytes > rest_.size() || !bits_at(rest_, 0, width_, value)) return false;
  repeated_ = static_cast<std::uint32_t>(value);
  rest_.remove_prefix(bytes);
  return true;
}

bool RunReader::next(std::uint32_t& value) {
  if (left_ == 0 && !open_run()) return false;
  --left_;
  value = repeated_;
  if (!is_packed_) return true;
  std::uint64_t bits = 0;
  if (!bits_at(packed_, bit_, width_, bits)) return false;
  bit_ += static_cast<std::uint64_t>(width_);
  value = static_cast<std::uint32_t>(bits);
  return true;
}

DeltaReader::DeltaReader(std::string_view bytes) : rest_(bytes) {
  std::uint64_t block = 0, count = 0;
  if (!varint(rest_, block) || !varint(rest_, miniblocks_) || !varint(rest_, count)) return;
  if (!zigzag(rest_, last_) || miniblocks_ == 0 || block > kLargestBlock || block % miniblocks_ != 0) return;
  per_miniblock_ = block / miniblocks_;
  constexpr std::uint64_t kWhole = 8;  // else a miniblock ends within a byte
  if (per_miniblock_ == 0 || per_miniblock_ % kWhole != 0) return;
  count_ = count;
}

bool DeltaReader::open_block() {
  if (!zigzag(rest_, least_) || miniblocks_ > rest_.size()) return false;
  widths_ = rest_.substr(0, miniblocks_);
  rest_.remove_prefix(widths_.size());
  return true;
}

bool DeltaReader::open_miniblock() {
  if (widths_.empty() && !open_block()) return false;
  width_ = static_cast<unsigned char>(widths_.front());
  widths_.remove_prefix(1);
  const std::uint64_t bytes = per_miniblock_ / kByte * static_cast<std::uint64_t>(width_);
  if (width_ > kWidestDelta || bytes > rest_.size()) return false;
  packed_ = rest_.substr(0, bytes);
  rest_.remove_prefix(packed_.size());
  left_ = per_miniblock_;
  bit_ = 0;
  return true;
}

bool DeltaReader::next(std::int64_t& value) {
  if (given_ == count_) return false;
  if (given_++ > 0) {
    std::uint64_t bits = 0;
    if (left_ == 0 && !open_miniblock()) return false;
    if (!bits_at(packed_, bit_, width_, bits)) return false;
    bit_ += static_cast<std::uint64_t>(width_);
    --left_;
    last_ += least_ + bits;
  }
  value = static_cast<std::int64_t>(last_);
  return true;
}

bool ParquetDictionary::read(ParquetType type, std::string bytes, std::int64_t count) {
  type_ = type;
  bytes_ = std::move(bytes);
  starts_.clear();
  count_ = 0;
  if (count < 0 || static_cast<std::uint64_t>(count) > bytes_.size()) return false;
  if (type == ParquetType::bytes) starts_.reserve(static_cast<std::size_t>(count));
  std::string_view rest = bytes_;
  ParquetValue value;
  for (std::int64_t i = 0; i < count; ++i) {
    if (type == ParquetType::bytes)
      starts_.push_back(static_cast<std::uint32_t>(bytes_.size() - rest.size()));
    if (!plain(type, rest, value)) return false;
  }
  count_ = static_cast<std::uint32_t>(count);
  return true;
}

bool ParquetDictionary::value(std::uint32_t index, ParquetValue& out) const {
  if (index >= count_) return false;
  const std::size_t width = type_ == ParquetType::int32 || type_ == ParquetType::float32 ? 4 : 8;
  std::string_view rest = bytes_;
  rest.remove_prefix(type_ == ParquetType::bytes ? starts_[index] : index * width);
  return plain(type_, rest, out);
}

bool is_read(ParquetType type, ParquetEncoding encoding) {
  using enum ParquetEncoding;
  if (type == ParquetType::int96 || type == ParquetType::fixed_bytes) return false;
  switch (encoding) {
    case plain:
      return true;
    case plain_dictionary:
    case rle_dictionary:
      return type != ParquetType::boolean;
    case rle:
      return type == ParquetType::boolean;
    case delta_binary_packed:
      return type == ParquetType::int32 || type == ParquetType::int64;
    case delta_length_bytes:
    case delta_bytes:
      return type == ParquetType::bytes;
    case bit_packed:
    case byte_stream_split:
      return false;
  }
  return false;
}

bool ValueReader::open_texts(DeltaReader lengths, std::int64_t most, std::vector<std::uint32_t>& out) {
  out.clear();
  if (lengths.count() > static_cast<std::uint64_t>(most)) return false;
  std::int64_t length = 0;
  while (lengths.next(length)) {
    if (length < 0 || length > std::numeric_limits<std::int32_t>::max()) return false;
    out.push_back(static_cast<std::uint32_t>(length));
  }
  rest_ = lengths.rest();
  return out.size() == lengths.count();
}

bool ValueReader::open(ParquetType type, ParquetEncoding encoding, std::string_view bytes,
                       const ParquetDictionary& dictionary, std::int64_t most) {
  using enum ParquetEncoding;
  type_ = type;
  encoding_ = encoding;
  rest_ = bytes;
  dictionary_ = &dictionary;
  at_ = 0;
  text_.clear();
  prefixes_.clear();
  if (!is_read(type, encoding)) return false;
  if (encoding == rle || (encoding == plain && type == ParquetType::boolean)) {
    std::uint32_t length = 0;
    if (encoding == plain) return true;
    if (!take(rest_, length) || length > rest_.size()) return false;
    runs_ = RunReader(rest_.substr(0, length), 1);
  } else if (encoding == plain_dictionary || encoding == rle_dictionary) {
    if (rest_.empty()) return true;  // a page of absent values
    const int width = static_cast<unsigned char>(rest_.front());
    if (width > kWidestIndex) return false;
    runs_ = RunReader(rest_.substr(1), width);
  } else if (encoding == delta_binary_packed) {
    deltas_ = DeltaReader(rest_);
  } else if (encoding == delta_length_bytes) {
    return open_texts(DeltaReader(rest_), most, lengths_);
  } else if (encoding == delta_bytes) {
    return open_texts(DeltaReader(rest_), most, prefixes_) &&
           open_texts(DeltaReader(rest_), most, lengths_) && prefixes_.size() == lengths_.size();
  }
  return true;
}

bool ValueReader::next_text(ParquetValue& out) {
  if (at_ == lengths_.size() || lengths_[at_] > rest_.size()) return false;
  const std::string_view suffix = rest_.substr(0, lengths_[at_]);
  rest_.remove_prefix(suffix.size());
  out.kind = ParquetValue::Kind::text;
  out.text = suffix;
  if (encoding_ == ParquetEncoding::delta_bytes) {
    if (prefixes_[at_] > text_.size()) return false;
    text_.resize(prefixes_[at_]);
    text_.append(suffix);
    out.text = text_;
  }
  ++at_;
  return true;
}

bool ValueReader::next(ParquetValue& out) {
  using enum ParquetEncoding;
  std::uint32_t number = 0;
  switch (encoding_) {
    case plain_dictionary:
    case rle_dictionary:
      return runs_.next(number) && dictionary_->value(number, out);
    case rle:
      out.kind = ParquetValue::Kind::whole;
      if (!runs_.next(number)) return false;
      out.whole = number;
      return true;
    case delta_binary_packed:
      out.kind = ParquetValue::Kind::whole;
      if (!deltas_.next(out.whole)) return false;
      if (type_ == ParquetType::int32) out.whole = static_cast<std::int32_t>(out.whole);
      return true;
    case delta_length_bytes:
    case delta_bytes:
      return next_text(out);
    case plain: {
      if (type_ != ParquetType::boolean) return logs::plain(type_, rest_, out);
      std::uint64_t bit = 0;
      out.kind = ParquetValue::Kind::whole;
      if (!bits_at(rest_, at_++, 1, bit)) return false;
      out.whole = static_cast<std::int64_t>(bit);
      return true;
    }
    case bit_packed:
    case byte_stream_split:
      return false;
  }
  return false;
}

}  // namespace trnplan::logs
