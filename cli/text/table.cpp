#include "cli/text/table.h"

#include <algorithm>
#include <limits>

#include "cli/text/wrap.h"

namespace trnplan::cli {

namespace {

constexpr int kTailGap = 2;  ///< spaces before a tail, at least
constexpr int kFurther = 4;  ///< indent of a tail on a line of its own, in addition to the table's

std::string spaces(int n) {
  return std::string(static_cast<std::size_t>(std::max(0, n)), ' ');
}

std::string aligned(const std::string& cell, int width, bool left) {
  const std::string padding = spaces(width - columns_of(cell));
  return left ? cell + padding : padding + cell;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

Table::Table(std::vector<Column> columns, std::string tail, int indent, int gap)
    : columns_(std::move(columns)), tail_(std::move(tail)), indent_(indent), gap_(gap) {}

void Table::row(std::vector<std::string> cells, std::string tail) {
  cells.resize(columns_.size());
  rows_.push_back({std::move(cells), std::move(tail)});
}

void Table::note(std::string text) {
  rows_.push_back({{}, std::move(text)});
}

std::vector<int> Table::widths() const {
  std::vector<int> all;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    int most = std::max(columns_[i].least, columns_of(columns_[i].header));
    for (const Row& r : rows_) most = std::max(most, r.cells.empty() ? 0 : columns_of(r.cells[i]));
    all.push_back(most);
  }
  return all;
}

int Table::taken(const std::vector<int>& widths, const std::vector<bool>& shown) const {
  int sum = indent_ - gap_;
  for (std::size_t i = 0; i < columns_.size(); ++i) sum += shown[i] ? widths[i] + gap_ : 0;
  return sum;
}

std::vector<bool> Table::shown(const std::vector<int>& widths, int width) const {
  std::vector<bool> shown(columns_.size(), true);
  while (taken(widths, shown) > width) {
    std::size_t least = columns_.size();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (shown[i] && columns_[i].spare > (least < columns_.size() ? columns_[least].spare : 0)) least = i;
    }
    if (least == columns_.size()) break;
    shown[least] = false;
  }
  return shown;
}

bool Table::shows(std::string_view header, int width) const {
  const std::vector<bool> columns = shown(widths(), width);
  for (std::size_t i = 0; i < columns_.size(); ++i)
    if (columns_[i].header == header) return columns[i];
  return false;
}

std::string Table::text() const {
  return text(std::numeric_limits<int>::max());
}

std::string Table::text(int width) const {
  const std::vector<int> widths = this->widths();
  const std::vector<bool> shown = this->shown(widths, width);
  const int tail_gap = std::max(kTailGap, gap_);
  int longest = columns_of(tail_);
  for (const Row& r : rows_) longest = std::max(longest, r.cells.empty() ? 0 : columns_of(r.tail));
  const bool below = longest > 0 && taken(widths, shown) + tail_gap + longest > width;

  const auto line = [&](const auto& cell_of, const std::string& tail) {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (shown[i])
        out += spaces(out.empty() ? indent_ : gap_) + aligned(cell_of(i), widths[i], columns_[i].left);
    return without_trailing_spaces(tail.empty() ? out : out + spaces(tail_gap) + tail) + "\n";
  };
  std::string out = line([&](std::size_t i) { return columns_[i].header; }, below ? "" : tail_);
  for (const Row& r : rows_) {
    if (r.cells.empty()) {
      out += spaces(indent_) + r.tail + "\n";
      continue;
    }
    out += line([&](std::size_t i) { return r.cells[i]; }, below ? "" : r.tail);
    if (below && !r.tail.empty()) out += spaces(indent_ + kFurther) + r.tail + "\n";
  }
  return wrapped(out, width);
}

}  // namespace trnplan::cli
