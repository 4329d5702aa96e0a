#include <algorithm>

#include <fmt/format.h>

#include "topology/verdict.h"

namespace trnplan::topology {

namespace {

/// One torus of rows x columns whose chips are numbered from `first`.
class Drawing {
 public:
  Drawing(const Instance& instance, const std::vector<int>& marked)
      : rows_(instance.torus_rows),
        columns_(instance.torus_columns),
        width_(std::max<std::size_t>(2, std::to_string(instance.chips - 1).size()) + 2),
        marked_(marked) {}

  std::string torus(int first) const {
    std::string text = bars(':');
    for (int row = 0; row < rows_; ++row) {
      if (row > 0) text += bars('|');
      text += "  .. ";
      for (int column = 0; column < columns_; ++column) {
        text += chip(first + row * columns_ + column);
        text += column + 1 < columns_ ? "--" : "..\n";
      }
    }
    return text + bars(':');
  }

 private:
  /// "[12]" or " 12 ".
  std::string chip(int number) const {
    const bool marked = std::find(marked_.begin(), marked_.end(), number) != marked_.end();
    return fmt::format("{:<{}}", marked ? fmt::format("[{}]", number) : fmt::format(" {}", number), width_);
  }
  std::string bars(char bar) const {
    std::string line = "     ";
    for (int c = 0; c < columns_; ++c) line += fmt::format(" {:<{}}", bar, width_ + 1);
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }

  int rows_, columns_;
  std::size_t width_;
  const std::vector<int>& marked_;
};

}  // namespace

std::string draw_torus(const Instance& instance, const std::vector<int>& marked) {
  if (instance.torus_rows < 1 || instance.torus_columns < 1) return "";
  const int chips = instance.torus_rows * instance.torus_columns;
  if (chips * instance.torus_depth != instance.chips) return "";
  const Drawing drawing(instance, marked);
  std::string text;
  for (int first = 0; first < instance.chips; first += chips) {
    if (first > 0) text += "\n";
    text += drawing.torus(first);
  }
  return text;
}

}  // namespace trnplan::topology
