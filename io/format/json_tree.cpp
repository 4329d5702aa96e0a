#include "io/format/json_tree.h"

namespace trnplan::io {

namespace {

/// Writes a triangle with a line for each row: nobody reads thousands of lines.
std::string with_short_rows(const std::string& text) {
  const std::size_t start = text.find("\"lower\": [");
  if (start == std::string::npos) return text;
  std::string out = text.substr(0, start);
  int depth = 0;
  for (std::size_t i = start; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (depth >= 2 && (c == '\n' || c == ' ')) continue;
    out += c;
    if (depth >= 2 && c == ',') out += ' ';
  }
  return out;
}

}  // namespace

std::string dumped(const Json& document, int indent) {
  return document.dump(indent, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string profile_text(const Json& profile) {
  return with_short_rows(dumped(profile));
}

}  // namespace trnplan::io
