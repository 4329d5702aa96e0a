// Values of one page of a Parquet file, one after the other.
//
// Encodings: apache/parquet-format@02d6768a:Encodings.md. Bytes may be hostile: each reader ends at the first
// value that its bytes do not hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "logs/profile/parquet_footer.h"

namespace trnplan::logs {

struct ParquetValue {
  enum class Kind { none, whole, real, text };
  Kind kind = Kind::none;  ///< none: the row has no value
  std::int64_t whole = 0;  ///< also of a bool: 0 or 1
  double real = 0;
  std::string_view text;  ///< valid until the next value of its column
};

/// Numbers of `width` bits in runs of equal ones and of packed ones (RLE).
class RunReader {
 public:
  RunReader() = default;
  RunReader(std::string_view bytes, int width) : rest_(bytes), width_(width) {}
  bool next(std::uint32_t& value);

 private:
  bool open_run();
  std::string_view rest_, packed_;
  int width_ = 0;
  std::uint64_t left_ = 0, bit_ = 0;
  std::uint32_t repeated_ = 0;
  bool is_packed_ = false;
};

/// Whole numbers as differences (DELTA_BINARY_PACKED). Overflow wraps around, as the format says.
class DeltaReader {
 public:
  DeltaReader() = default;
  explicit DeltaReader(std::string_view bytes);
  bool next(std::int64_t& value);
  /// Values that the header states; 0 if it is damaged.
  std::uint64_t count() const { return count_; }
  /// Bytes that follow the values, after the last of them was read.
  std::string_view rest() const { return rest_; }

 private:
  bool open_block();
  bool open_miniblock();
  std::string_view rest_, widths_, packed_;
  std::uint64_t count_ = 0, given_ = 0, last_ = 0, least_ = 0;
  std::uint64_t miniblocks_ = 0, per_miniblock_ = 0;  ///< of a block; values
  std::uint64_t left_ = 0, bit_ = 0;                  ///< of the miniblock
  int width_ = 0;
};

/// The entries of a dictionary page.
class ParquetDictionary {
 public:
  /// False if the bytes do not hold so many values.
  bool read(ParquetType type, std::string bytes, std::int64_t count);
  bool value(std::uint32_t index, ParquetValue& out) const;
  /// Memory, in bytes.
  std::int64_t held() const {
    return static_cast<std::int64_t>(bytes_.capacity() + starts_.capacity() * sizeof(starts_[0]));
  }
  bool empty() const { return count_ == 0; }

 private:
  ParquetType type_ = ParquetType::int64;
  std::string bytes_;
  std::vector<std::uint32_t> starts_;  ///< of texts
  std::uint32_t count_ = 0;
};

/// The values of one data page in any encoding that is read.
class ValueReader {
 public:
  /// False if this type is not read in this encoding, or the bytes are damaged. Bytes and dictionary must
  /// stay where they are. `most`: no more values are asked for.
  bool open(ParquetType type, ParquetEncoding encoding, std::string_view bytes,
            const ParquetDictionary& dictionary, std::int64_t most);
  /// False at a value that the bytes do not hold.
  bool next(ParquetValue& out);

 private:
  bool open_texts(DeltaReader lengths, std::int64_t most, std::vector<std::uint32_t>& out);
  bool next_text(ParquetValue& out);

  ParquetType type_ = ParquetType::int64;
  ParquetEncoding encoding_ = ParquetEncoding::plain;
  std::string_view rest_;
  const ParquetDictionary* dictionary_ = nullptr;
  RunReader runs_;
  DeltaReader deltas_;
  std::vector<std::uint32_t> prefixes_, lengths_;
  std::size_t at_ = 0;
  std::string text_;
};

/// Encodings of values that ValueReader knows, as the bits of ParquetChunk::encodings.
bool is_read(ParquetType type, ParquetEncoding encoding);

}  // namespace trnplan::logs
