#include "tests/launch/folder/entry_points/shipped_lines.h"

#include <iterator>
#include <sstream>
#include <stdexcept>

#include "text/document.h"

namespace trnplan {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

std::vector<ShippedLine> shipped_lines() {
  std::istringstream text(read_text(TRNPLAN_SOURCE_DIR "/tests/launch/folder/entry_points/shipped.txt"));
  std::vector<ShippedLine> lines;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with('#')) continue;
    const std::size_t first = line.find(" | "), second = line.find(" | ", first + 3);
    lines.push_back({line.substr(0, first), line.substr(first + 3, second - first - 3),
                     words_of(line.substr(second + 3))});
  }
  return lines;
}

ShippedLine shipped_line(const std::string& script, const std::string& recipe) {
  for (ShippedLine& line : shipped_lines()) {
    if (line.script == script && line.recipe == recipe) return line;
  }
  throw std::invalid_argument("no line " + script + " " + recipe);
}

}  // namespace trnplan
