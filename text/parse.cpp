#include "text/parse.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "units/quantity.h"

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

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
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

bool is_version(std::string_view text) {
  const std::size_t point = text.find('.');
  return text.size() < 20 && text.find_first_not_of("0123456789.") == std::string_view::npos &&
         text.find("..") == std::string_view::npos && point != std::string_view::npos && point > 0 &&
         text.back() != '.';
}

std::vector<std::string> comma_parts(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    parts.emplace_back(text.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

std::optional<int> parse_whole(std::string_view text) {
  int value = 0;
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::vector<int>> parse_doubling(std::string_view text, int most) {
  const std::size_t dots = text.find("..");
  const auto first = parse_whole(text.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : parse_whole(text.substr(dots + 2));
  if (!first || !last || *first < 1 || *last < *first || *last > most) return std::nullopt;
  std::vector<int> all;
  for (std::int64_t n = *first; n < *last; n *= 2) all.push_back(static_cast<int>(n));
  all.push_back(*last);
  return all;
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const auto parts = split(text);
  if (!parts) return std::nullopt;
  std::string unit(parts->suffix.substr(0, 4));
  for (char& c : unit) c = lower(c);
  double scale = 1;
  if (!unit.empty() && unit != "b") {
    const std::size_t power = std::string_view("kmgt").find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || (!rest.empty() && rest != "b" && rest != "ib"))
      return std::nullopt;
    scale = std::ldexp(1.0, 10 * (static_cast<int>(power) + 1));
  }
  const double value = parts->number * scale;
  if (value > 0x1p62 || value != std::floor(value)) return std::nullopt;
  return Bytes(value);
}

std::optional<double> parse_share(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  const std::optional<double> number = parse_count(text);
  return number && percent ? std::optional(*number / 100) : number;
}

std::optional<double> parse_usd(std::string_view text) {
  const auto value = parse_count(text);
  return value && *value > 0 ? value : std::nullopt;
}

std::optional<Seconds> parse_duration(std::string_view text) {
  const auto parts = split(text);
  if (!parts || parts->suffix.size() != 1) return std::nullopt;
  double unit = 0;
  switch (parts->suffix[0]) {
    case 's':
      unit = 1;
      break;
    case 'm':
      unit = 60;
      break;
    case 'h':
      unit = kHour;
      break;
    case 'd':
      unit = kDay;
      break;
    case 'w':
      unit = 7 * kDay;
      break;
    default:
      return std::nullopt;
  }
  const double value = parts->number * unit;
  if (value > 0x1p62) return std::nullopt;
  return Seconds(value);
}

}  // namespace trnplan
