#include "launch/folder/templates.h"

#include <algorithm>
#include <stdexcept>

namespace trnplan::launch {

namespace {

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";

/// End of the placeholder that begins at `at`, after its second @; 0 if none begins there.
std::size_t placeholder_end(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_not_of(kLetters, at + 1);
  return end != std::string_view::npos && end > at + 1 && text[end] == '@' ? end + 1 : 0;
}

}  // namespace

std::string filled(std::string_view script, const std::map<std::string_view, std::string>& values) {
  const auto found = script_templates().find(script);
  if (found == script_templates().end()) throw std::logic_error("no template " + std::string(script));
  const std::string_view text = found->second;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t mark = std::min(text.find('@', at), text.size());
    out += text.substr(at, mark - at);
    if (mark == text.size()) break;
    const std::size_t end = placeholder_end(text, mark);
    if (end == 0) {
      out += '@';
      at = mark + 1;
      continue;
    }
    const auto value = values.find(text.substr(mark + 1, end - mark - 2));
    if (value == values.end()) {
      throw std::logic_error("no value for " + std::string(text.substr(mark, end - mark)) + " of " +
                             std::string(script));
    }
    out += value->second;
    const bool alone = (mark == 0 || text[mark - 1] == '\n') && end < text.size() && text[end] == '\n';
    at = alone && value->second.empty() ? end + 1 : end;
  }
  return out;
}

}  // namespace trnplan::launch
