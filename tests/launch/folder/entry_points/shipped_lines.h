// Command lines of shipped.txt.
#pragma once

#include <string>
#include <vector>

namespace trnplan {

struct ShippedLine {
  std::string script, recipe;
  std::vector<std::string> words;
};

/// Words between blanks.
std::vector<std::string> words_of(const std::string& text);

std::vector<ShippedLine> shipped_lines();

/// Throws std::invalid_argument if there is none.
ShippedLine shipped_line(const std::string& script, const std::string& recipe);

}  // namespace trnplan
