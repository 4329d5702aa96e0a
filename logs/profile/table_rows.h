// The rows of a table, whatever file it is in: what the readers of profiles read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trnplan::logs {

class TableRows {
 public:
  /// The column of a name that the table does not have; its values are absent.
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);

  TableRows() = default;
  TableRows(const TableRows&) = delete;
  TableRows& operator=(const TableRows&) = delete;
  virtual ~TableRows() = default;

  /// Names of the columns, in their order.
  virtual const std::vector<std::string>& names() const = 0;
  /// The first column of that name; only columns asked for before the first row can be read.
  virtual std::size_t column(std::string_view name) = 0;

  /// Goes to the next row; false after the last. May throw InputError.
  virtual bool next() = 0;
  /// Fault of this row, with what is left out for it; "" for a sound one.
  virtual std::string problem() const = 0;
  /// Place of this row in the file: a line, or a row counted from 1.
  virtual int line() const = 0;

  /// Values of this row, valid until the next; "" or nothing where they are absent or of another kind.
  virtual std::string_view text(std::size_t column) const = 0;
  virtual std::optional<double> number(std::size_t column) const = 0;       ///< finite
  virtual std::optional<std::int64_t> whole(std::size_t column) const = 0;  ///< at least 0
};

}  // namespace trnplan::logs
