// Lines of a text that is in memory as a whole.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace trnplan {

/// The lines without their ends; a line end at the end of the text adds no empty line. The views refer to
/// `text`.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

}  // namespace trnplan
