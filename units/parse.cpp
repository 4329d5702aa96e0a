#include "units/parse.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace trnplan {

namespace {

struct NumberAndSuffix {
  double number;
  std::string_view suffix;
};

std::optional<NumberAndSuffix> split(std::string_view text) {
  if (text.empty() || !((text[0] >= '0' && text[0] <= '9') || text[0] == '.')) return std::nullopt;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  return NumberAndSuffix{number, text.substr(static_cast<std::size_t>(end - text.data()))};
}

}  // namespace

std::optional<double> parse_count(std::string_view text) {
  const auto parts = split(text);
  if (!parts || parts->suffix.size() > 1) return std::nullopt;
  double scale = 1;
  if (!parts->suffix.empty()) {
    switch (parts->suffix[0]) {
      case 'k':
      case 'K':
        scale = 1e3;
        break;
      case 'm':
      case 'M':
        scale = 1e6;
        break;
      case 'b':
      case 'B':
      case 'g':
      case 'G':
        scale = 1e9;
        break;
      case 't':
      case 'T':
        scale = 1e12;
        break;
      default:
        return std::nullopt;
    }
  }
  const double value = parts->number * scale;
  if (value > 0x1p62) return std::nullopt;
  return value;
}

std::optional<int> parse_whole(std::string_view text) {
  int value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Seconds> parse_duration(std::string_view text) {
  const auto parts = split(text);
  if (!parts || parts->suffix.size() != 1) return std::nullopt;
  switch (parts->suffix[0]) {
    case 's':
      return Seconds(parts->number);
    case 'm':
      return Seconds(parts->number * 60);
    case 'h':
      return Seconds(parts->number * 3600);
    case 'd':
      return Seconds(parts->number * 86400);
    case 'w':
      return Seconds(parts->number * 604800);
    default:
      return std::nullopt;
  }
}

}  // namespace trnplan
