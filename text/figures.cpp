#include "text/figures.h"

#include <fmt/format.h>

#include <cmath>

namespace trnplan {

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string factor_text(double value) {
  if (!(value >= 99.5)) return fmt::format("{:.2g}", value);
  double unit = 10;
  while (value / unit >= 100) unit *= 10;
  return fmt::format("{:.0f}", std::round(value / unit) * unit);
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, plural(count));
}

}  // namespace trnplan
