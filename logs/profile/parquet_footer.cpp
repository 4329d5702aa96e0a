#include "logs/profile/parquet_footer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "logs/profile/thrift.h"
#include "text/diagnostic.h"
#include "text/wire_reader.h"

namespace trnplan::logs {

namespace {

constexpr std::string_view kMagic = "PAR1", kEncrypted = "PARE";
constexpr std::size_t kTail = 8;  ///< the length of the footer, and the magic
constexpr std::size_t kFooter = std::size_t{16} << 20;
constexpr std::size_t kColumnsMost = 4096, kChunks = 1'000'000;
/// Rows of a small file, and more of them by byte: a column of equal values takes next to nothing, but no
/// table has such columns alone.
constexpr std::int64_t kRowsMost = 4'000'000, kRowsMostByByte = 16;
constexpr int kOptional = 1, kRepeated = 2;
constexpr const char* kCopyAgain = "copy the file again, or wait until it is written";

/// DECIMAL, DATE, TIME and TIMESTAMP as ConvertedType and as LogicalType number them.
constexpr int kFirstScaledConverted = 5, kLastScaledConverted = 10;
constexpr int kFirstScaledLogical = 5, kLastScaledLogical = 8;

bool is_between(std::int64_t value, std::int64_t first, std::int64_t last) {
  return value >= first && value <= last;
}

class FooterReader {
 public:
  FooterReader(std::string_view bytes, std::uint64_t size, const std::string& name)
      : thrift_(bytes), size_(size), name_(name) {}

  ParquetFooter read() {
    thrift_.structure([&](int field) {
      if (field == 2) thrift_.list([&] { read_element(); });
      if (field == 4) thrift_.list([&] { read_group(); });
    });
    if (thrift_.failed()) refuse("its footer is damaged");
    check();
    return std::move(footer_);
  }

 private:
  [[noreturn]] void refuse(std::string problem) const {
    throw InputError({{name_, 0, 0}, "", "a Parquet file: " + std::move(problem), kCopyAgain});
  }

  /// Elements come depth first: a group is followed by its children.
  void read_element() {
    ParquetColumn column;
    std::int64_t children = 0, repetition = 0;
    thrift_.structure([&](int field) {
      if (field == 1) column.type = thrift_.number();
      if (field == 3) repetition = thrift_.whole();
      if (field == 4) column.name = std::string(thrift_.text());
      if (field == 5) children = thrift_.whole();
      if (field == 6)
        column.scaled |= is_between(thrift_.whole(), kFirstScaledConverted, kLastScaledConverted);
      if (field == 10) {
        thrift_.structure(
            [&](int kind) { column.scaled |= is_between(kind, kFirstScaledLogical, kLastScaledLogical); });
      }
    });
    if (thrift_.failed()) return;
    const std::size_t level = open_.size();
    while (!open_.empty() && open_.back() == 0) open_.pop_back();
    if (children < 0 || children > static_cast<std::int64_t>(kColumnsMost) || level > kLevels) {
      refuse("its footer has a group without end");
    }
    if (!root_read_) {
      root_read_ = true;
      open_.push_back(children);
      return;
    }
    if (open_.empty()) refuse("its footer has columns outside of the table");
    --open_.back();
    if (children > 0) {
      open_.push_back(children);
      return;
    }
    column.optional = repetition == kOptional;
    column.flat = open_.size() == 1 && repetition < kRepeated;
    footer_.columns.push_back(std::move(column));
    if (footer_.columns.size() > kColumnsMost) refuse(fmt::format("more than {} columns", kColumnsMost));
  }

  void read_group() {
    ParquetGroup group;
    thrift_.structure([&](int field) {
      if (field == 1) thrift_.list([&] { group.chunks.push_back(read_chunk()); });
      if (field == 3) group.rows = thrift_.whole();
    });
    if (chunks_ > kChunks) refuse(fmt::format("more than {} pieces of columns", kChunks));
    footer_.groups.push_back(std::move(group));
  }

  ParquetChunk read_chunk() {
    ParquetChunk chunk;
    std::int64_t first = -1, dictionary = -1;
    if (++chunks_ > kChunks) thrift_.stop();
    thrift_.structure([&](int field) {
      if (field == 1) chunk.readable = chunk.readable && thrift_.text().empty();
      if (field == 8 || field == 9) chunk.readable = false;
      if (field != 3) return;
      thrift_.structure([&](int entry) {
        if (entry == 2) {
          thrift_.list([&] {
            const std::int64_t encoding = thrift_.whole();
            chunk.encodings |= 1U << std::clamp<std::int64_t>(encoding, 0, 31);
          });
        }
        if (entry == 4) chunk.codec = thrift_.number();
        if (entry == 5) chunk.values = thrift_.whole();
        if (entry == 7) chunk.bytes = thrift_.whole();
        if (entry == 9) first = thrift_.whole();
        if (entry == 11) dictionary = thrift_.whole();
      });
    });
    // Some writers state 0 where there is no dictionary.
    chunk.offset = dictionary > 0 && dictionary < first ? dictionary : first;
    return chunk;
  }

  void check() {
    if (footer_.columns.empty()) refuse("its footer has no columns");
    const auto size = static_cast<std::int64_t>(size_);
    for (const ParquetGroup& group : footer_.groups) {
      if (group.rows < 0 || group.rows > kRowsMost + kRowsMostByByte * size - footer_.rows) {
        refuse(fmt::format("more rows than {} bytes can hold", size_));
      }
      footer_.rows += group.rows;
      if (group.chunks.size() != footer_.columns.size()) refuse("a row group without all the columns");
      for (const ParquetChunk& c : group.chunks) {
        const bool inside = c.offset >= 0 && c.bytes >= 0 && c.offset <= size && c.bytes <= size - c.offset;
        if (c.readable && !inside) refuse("its footer points beyond the file");
      }
    }
  }

  static constexpr std::size_t kLevels = 32;

  ThriftReader thrift_;
  std::uint64_t size_;
  const std::string& name_;
  ParquetFooter footer_;
  std::vector<std::int64_t> open_;  ///< children that are still to come, of each group around
  bool root_read_ = false;
  std::size_t chunks_ = 0;
};

template <std::size_t count>
std::string name_in(const std::array<const char*, count>& names, int number) {
  if (number >= 0 && number < static_cast<int>(count)) return names[static_cast<std::size_t>(number)];
  return fmt::format("number {}", number);
}

}  // namespace

std::string codec_name(int codec) {
  constexpr std::array<const char*, 8> kNames = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                                 "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
  return name_in(kNames, codec);
}

std::string encoding_name(int encoding) {
  constexpr std::array<const char*, 11> kNames = {"PLAIN",
                                                  "GROUP_VAR_INT",
                                                  "PLAIN_DICTIONARY",
                                                  "RLE",
                                                  "BIT_PACKED",
                                                  "DELTA_BINARY_PACKED",
                                                  "DELTA_LENGTH_BYTE_ARRAY",
                                                  "DELTA_BYTE_ARRAY",
                                                  "RLE_DICTIONARY",
                                                  "BYTE_STREAM_SPLIT",
                                                  "ALP"};
  return name_in(kNames, encoding);
}

bool is_parquet(std::string_view head) {
  return head.starts_with(kMagic) || head.starts_with(kEncrypted);
}

bool read_at(ByteStream& file, std::uint64_t offset, std::size_t size, std::string& out) {
  out.clear();
  if (!file.seek(offset)) return false;
  while (out.size() < size && append_from(file, out, std::min(kChunk, size - out.size()))) {
  }
  return out.size() == size;
}

ParquetFooter read_footer(ByteStream& file, std::uint64_t size, const std::string& name) {
  const auto refuse = [&](std::string problem, const char* fix) {
    throw InputError({{name, 0, 0}, "", "a Parquet file" + std::move(problem), fix});
  };
  std::string bytes;
  if (size < kMagic.size() + kTail || !read_at(file, size - kTail, kTail, bytes)) {
    refuse(" that is cut off: it has no footer", kCopyAgain);
  }
  if (bytes.ends_with(kEncrypted)) refuse(" that is encrypted", "export it without encryption");
  if (!bytes.ends_with(kMagic)) refuse(" that is cut off: it has no footer", kCopyAgain);
  const std::size_t length = little_endian<std::uint32_t>(bytes);
  if (length > size - kMagic.size() - kTail) refuse(": its footer is damaged", kCopyAgain);
  if (length > kFooter) {
    refuse(fmt::format(" whose footer is larger than {} MiB", kFooter >> 20),
           "export it with larger row groups");
  }
  if (!read_at(file, size - kTail - length, length, bytes)) refuse(": its footer is damaged", kCopyAgain);
  return FooterReader(bytes, size, name).read();
}

}  // namespace trnplan::logs
