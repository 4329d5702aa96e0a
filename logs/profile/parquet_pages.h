// The pages of one column of a Parquet file, read one at a time.
//
// Format: apache/parquet-format@010f49b8:src/main/thrift/parquet.thrift (PageHeader) and
// @bbfd5d3b:Compression.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "logs/profile/parquet_footer.h"
#include "logs/profile/parquet_values.h"

namespace trnplan::logs {

/// Limits of a file: what it may cost, for all of its columns together.
class ParquetBudget {
 public:
  explicit ParquetBudget(std::uint64_t file_bytes);
  /// Counts bytes that are read or unpacked; false once they are more than a file of this size can need.
  bool spend(std::int64_t bytes);
  /// Counts memory; false if more than 192 MiB would be held.
  bool hold(std::int64_t bytes);
  void release(std::int64_t bytes) { held_ -= bytes; }

  std::string packed;  ///< the bytes that were read last, of any column

 private:
  std::int64_t work_, held_ = 0;
};

/// Unpacks a page into `out`, which then has `size` bytes; false if the bytes are damaged, or the codec is
/// not read. Memory: that of `out`.
bool unpack(int codec, std::string_view packed, std::size_t size, std::string& out);
/// True for the codecs that unpack() knows.
bool is_read(ParquetCodec codec);

/// The values of a column, from one row to the next. Holds one page, and a dictionary.
class ColumnReader {
 public:
  ColumnReader(ByteStream& file, ParquetColumn column, ParquetBudget& budget)
      : file_(&file), column_(std::move(column)), budget_(&budget) {}

  /// Goes to the first page of a row group.
  void open(const ParquetChunk& chunk);
  /// Reads the value of the next row. False if the file is damaged there or asks for too much; problem()
  /// then says how.
  bool next();
  const ParquetValue& value() const { return value_; }
  const ParquetColumn& column() const { return column_; }
  const std::string& problem() const { return problem_; }

 private:
  struct Header {
    int type = -1, encoding = -1, levels = -1;
    std::int64_t values = -1, packed = -1, size = -1;
    std::int64_t level_bytes = 0, repetition_bytes = 0;  ///< of a page of version 2
    bool is_packed = true, second = false;
    std::int64_t crc = -1;
  };

  bool fail(std::string problem);
  bool next_page();
  bool read_header(Header& header, std::int64_t& length);
  bool read_page(const Header& header, std::string& out);
  bool open_dictionary(const Header& header);
  bool open_values(const Header& header);

  ByteStream* file_;
  ParquetColumn column_;
  ParquetBudget* budget_;
  ParquetChunk chunk_;
  std::int64_t at_ = 0, end_ = 0;  ///< bytes of the file
  std::int64_t values_left_ = 0;   ///< of the row group
  std::int64_t in_page_ = 0;       ///< values of the page that are still to come
  std::int64_t page_held_ = 0, dictionary_held_ = 0;
  std::string page_;
  bool levels_stated_ = false;
  RunReader levels_;
  ParquetDictionary dictionary_;
  ValueReader reader_;
  ParquetValue value_;
  std::string problem_;
};

}  // namespace trnplan::logs
