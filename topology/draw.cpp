#include <algorithm>

#include <fmt/format.h>

#include "topology/verdict.h"

namespace trnplan::topology {

namespace {

constexpr int kCellWidth = 4;  ///< "[12]"

}  // namespace

std::string draw_torus(const Instance& instance, const std::vector<int>& marked) {
  if (instance.torus_rows < 1 || instance.torus_columns < 1) return "";
  if (instance.torus_rows * instance.torus_columns != instance.chips) return "";
  const std::string wrap = [&] {
    std::string line = "     ";
    for (int c = 0; c < instance.torus_columns; ++c) line += " :    ";
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }();
  std::string text = wrap;
  for (int row = 0; row < instance.torus_rows; ++row) {
    if (row > 0) {
      std::string bars = "     ";
      for (int c = 0; c < instance.torus_columns; ++c) bars += " |    ";
      text += bars.substr(0, bars.find_last_not_of(' ') + 1) + "\n";
    }
    text += "  .. ";
    for (int column = 0; column < instance.torus_columns; ++column) {
      const int chip = row * instance.torus_columns + column;
      const bool is_marked = std::find(marked.begin(), marked.end(), chip) != marked.end();
      const std::string name = is_marked ? fmt::format("[{}]", chip) : fmt::format(" {}", chip);
      text += fmt::format("{:<{}}", name, kCellWidth);
      text += column + 1 < instance.torus_columns ? "--" : "..\n";
    }
  }
  return text + wrap;
}

}  // namespace trnplan::topology
