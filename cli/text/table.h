// Tables that fit the terminal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trnplan::cli {

struct Column {
  std::string header;
  bool left = false;  ///< aligned left instead of right
  int spare = 0;      ///< 0 = always shown; else dropped if there is no room, the largest value first
  int least = 0;      ///< minimum width
};

/// Rows of cells under headers, with a text at the end of each row ("tail") that may need more room than is
/// left.
class Table {
 public:
  /// `indent`: spaces before the first column; `gap`: between columns, and before tails but at least two
  /// there. Without `tail` there is no such column.
  explicit Table(std::vector<Column> columns, std::string tail = "", int indent = 2, int gap = 2);

  /// Adds a row. Requires: as many cells as columns.
  void row(std::vector<std::string> cells, std::string tail = "");
  /// Adds text between rows, on a line of its own.
  void note(std::string text);

  /// Whole lines of at most `width` columns, unless the columns that are always shown are wider. If a tail
  /// does not fit, all tails go on lines of their own under their rows.
  std::string text(int width) const;
  /// Every column and tail, at any width.
  std::string text() const;
  /// True if there is room for the column with this header.
  bool shows(std::string_view header, int width) const;

 private:
  struct Row {
    std::vector<std::string> cells;  ///< empty = a note
    std::string tail;
  };

  std::vector<int> widths() const;
  std::vector<bool> shown(const std::vector<int>& widths, int width) const;
  int taken(const std::vector<int>& widths, const std::vector<bool>& shown) const;

  std::vector<Column> columns_;
  std::string tail_;
  int indent_, gap_;
  std::vector<Row> rows_;
};

}  // namespace trnplan::cli
