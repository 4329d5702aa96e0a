// The footer of a Parquet file: its columns, and where the pages of each lie.
//
// Format: apache/parquet-format@010f49b8:README.md and src/main/thrift/parquet.thrift.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/byte_stream.h"

namespace trnplan::logs {

/// Physical types, as numbered in the file.
enum class ParquetType { boolean = 0, int32, int64, int96, float32, float64, bytes, fixed_bytes };
/// Ways of packing a page, as numbered in the file.
enum class ParquetCodec { none = 0, snappy, gzip, lzo, brotli, lz4, zstd, lz4_raw };
/// Encodings of values, as numbered in the file.
enum class ParquetEncoding {
  plain = 0,
  plain_dictionary = 2,
  rle = 3,
  bit_packed = 4,
  delta_binary_packed = 5,
  delta_length_bytes = 6,
  delta_bytes = 7,
  rle_dictionary = 8,
  byte_stream_split = 9
};

/// Name of a codec or encoding as the format's documents write it; its number where it is unknown.
std::string codec_name(int codec);
std::string encoding_name(int encoding);

struct ParquetColumn {
  std::string name;
  int type = -1;          ///< a ParquetType
  bool scaled = false;    ///< a decimal, date or time: its numbers are not in the unit of the table
  bool optional = false;  ///< rows may have no value
  bool flat = false;      ///< one value a row at most, outside of any group
};

/// The pages of one column in one row group.
struct ParquetChunk {
  int codec = -1;
  std::uint32_t encodings = 0;  ///< bit n: encoding n occurs
  std::int64_t values = -1;     ///< with those that are absent
  std::int64_t offset = -1;     ///< of its first page, in bytes of the file
  std::int64_t bytes = -1;      ///< of its pages with their headers
  bool readable = true;         ///< neither encrypted nor in another file
};

struct ParquetGroup {
  std::int64_t rows = 0;
  std::vector<ParquetChunk> chunks;  ///< in the order of the columns
};

struct ParquetFooter {
  std::vector<ParquetColumn> columns;
  std::vector<ParquetGroup> groups;
  std::int64_t rows = 0;  ///< of all groups
};

/// True if a file that begins so is in Parquet.
[[nodiscard]] bool is_parquet(std::string_view head);

/// Reads the footer of a file of `size` bytes. Throws InputError if the file is cut, encrypted or
/// contradictory, if the footer is above 16 MiB, or if it has more than 4096 columns, a million chunks, or
/// more rows than so few bytes can hold. Memory: a multiple of the footer's.
[[nodiscard]] ParquetFooter read_footer(ByteStream& file, std::uint64_t size, const std::string& name);

/// Reads exactly the bytes that lie there into `out`; false if the file has fewer.
bool read_at(ByteStream& file, std::uint64_t offset, std::size_t size, std::string& out);

}  // namespace trnplan::logs
