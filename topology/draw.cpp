#include <algorithm>

#include <fmt/format.h>

#include "topology/verdict.h"

namespace trnplan::topology {

namespace {

/// One torus of rows x columns with chips numbered from `first`.
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
  /// The chip's label: "[12]" if marked, else " 12 ".
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

std::string draw_switch(const Instance& instance) {
  constexpr int kMost = 16;  // chips on a line of 100 columns
  const int chips = instance.chips;
  if (instance.switches != 1 || chips < 1 || chips > kMost) return "";
  if (instance.links.size() != static_cast<std::size_t>(chips)) return "";
  std::vector<bool> joined(static_cast<std::size_t>(chips), false);
  for (const Link& l : instance.links) {
    const auto [chip, other] = std::minmax(l.chip_a, l.chip_b);
    if (other != chips || joined[static_cast<std::size_t>(chip)] ||
        instance.rate_of(l).value != instance.rate_of(instance.links.front()).value)
      return "";
    joined[static_cast<std::size_t>(chip)] = true;
  }
  constexpr int kWidth = 5;
  const auto line = [&](const std::string& name, const auto& cell, const std::string& after) {
    std::string text = fmt::format("  {:<8}", name);
    for (int c = 0; c < chips; ++c) text += fmt::format("{:^{}}", cell(c), kWidth);
    text += "  " + after;
    return text.substr(0, text.find_last_not_of(' ') + 1) + "\n";
  };
  const auto bar = [](int) { return std::string("|"); };
  const double link = instance.rate_of(instance.links.front()).value / 1e9;
  const std::string middle = " switch ";
  const auto width = static_cast<std::size_t>(chips * kWidth - 2);
  std::string row(width, '=');
  if (width > middle.size()) row.replace((width - middle.size()) / 2, middle.size(), middle);
  std::string text = fmt::format("  {:<8} {}\n", "", row);
  text += line("", bar, fmt::format("{:.1f} GB/s each way", link));
  text += line(
      std::string(chip_word(instance)), [](int c) { return std::to_string(c); }, "");
  if (instance.nics == 0) return text;
  text += line("", bar, fmt::format("{:.0f} Gbit/s each way, a NIC", instance.nic.value * 8 / 1e9));
  const auto nic = [&](int c) { return instance.nic_of_chip[static_cast<std::size_t>(c)]; };
  text += line(
      "NIC", [&](int c) { return std::to_string(nic(c)); }, "");
  if (instance.rails > 0)
    text += line(
        "rail", [&](int c) { return std::to_string(nic(c) % instance.rails); },
        "of the network between nodes");
  return text;
}

}  // namespace trnplan::topology
