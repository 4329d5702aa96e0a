// Rows of a Parquet file, for tables as profilers write them: columns outside of groups, one value a row.
//
// Read are BOOLEAN, INT32, INT64, FLOAT, DOUBLE and BYTE_ARRAY; PLAIN, dictionaries, RLE of booleans, and the
// DELTA encodings; data pages of both versions; no packing, Snappy, gzip and Zstandard. No public document
// says which of them Neuron Explorer writes, and no public file of it is known: these are what the usual
// writers (parquet-cpp, parquet-rs, parquet-go, DuckDB) choose where nothing is asked of them.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logs/profile/parquet_footer.h"
#include "logs/profile/parquet_pages.h"
#include "logs/profile/table_rows.h"
#include "text/diagnostic.h"

namespace trnplan::logs {

/// Time is linear in the columns that are read, which are unpacked page by page: memory is one page and one
/// dictionary a column, and the footer. A page above 64 MiB, more than 192 MiB of them at once, or more bytes
/// unpacked than 1 GiB and 200 a byte of the file, are damage: the rows before it are read.
class ParquetRows : public TableRows {
 public:
  /// Throws InputError as read_footer() does. Keeps a reference to `file`, whose seek() must work.
  ParquetRows(ByteStream& file, const std::string& name);

  const std::vector<std::string>& names() const override { return names_; }
  std::size_t column(std::string_view name) override;
  /// Throws InputError before the first row, with all columns asked for that are not read: the type,
  /// encoding or codec, and how to write the file again.
  bool next() override;
  std::string problem() const override { return problem_; }
  int line() const override;
  std::string_view text(std::size_t column) const override;
  std::optional<double> number(std::size_t column) const override;
  std::optional<std::int64_t> whole(std::size_t column) const override;

  const ParquetFooter& footer() const { return footer_; }

 private:
  void check(const ParquetColumn& column, std::size_t index);
  bool open_group();

  std::string name_;
  ParquetFooter footer_;
  ParquetBudget budget_;
  ByteStream& file_;
  std::vector<std::string> names_;
  std::vector<std::size_t> indices_;  ///< in the file, of the columns that are read
  std::vector<ColumnReader> columns_;
  std::vector<Diagnostic> faults_;
  std::size_t group_ = 0;
  std::int64_t left_ = 0, row_ = 0;  ///< rows of the group
  std::string problem_;
};

}  // namespace trnplan::logs
