#include "targets/nxdt/yaml_scalar.h"

#include <fmt/format.h>

#include <charconv>

namespace trnplan::targets {

namespace {

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// "1e-06" is text to YAML 1.1, but "1.0e-06" is a number in every version.
std::string with_dot(std::string_view number) {
  const std::size_t exponent = number.find_first_of("eE");
  if (exponent == std::string_view::npos || exponent == 0 || number.find('.') != std::string_view::npos) {
    return std::string(number);
  }
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool whole_text = end == number.data() + number.size();
  if (!whole_text || error == std::errc::invalid_argument) return std::string(number);
  return fmt::format("{}.0{}", number.substr(0, exponent), number.substr(exponent));
}

}  // namespace

bool plain_in_block(std::string_view text) {
  if (text.empty() || text.front() == ' ' || text.back() == ' ' || text.back() == ':') return false;
  const bool dash = text.front() == '-' && text.size() > 1 && text[1] != ' ';
  if (!dash && std::string_view("-?:,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos)
    return false;
  if (text.starts_with("---") || text.starts_with("...") || text == "<<") return false;
  if (text.find(": ") != std::string_view::npos || text.find(" #") != std::string_view::npos) return false;
  for (const char c : text) {
    if (is_control(c)) return false;
  }
  return true;
}

bool plain_in_flow(std::string_view text) {
  return plain_in_block(text) && text.find_first_of(",?[]{}:#'\"") == std::string_view::npos;
}

std::string double_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n')
      out += "\\n";
    else if (is_control(c))
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else if (c == '"' || c == '\\')
      out += {'\\', c};
    else
      out += c;
  }
  return out + '"';
}

std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (is_control(c)) return double_quoted(text);
    out += c;
    if (c == '\'') out += c;
  }
  return out + '\'';
}

std::string spelled(std::string_view text) {
  if (text == "true") return "True";
  if (text == "false") return "False";
  return with_dot(text);
}

}  // namespace trnplan::targets
