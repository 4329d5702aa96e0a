#include "logs/nccom/printed_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <system_error>

namespace trnplan::logs {

namespace {

/// Share by which a double may be off on the way.
constexpr double kSlack = 1e-6;

}  // namespace

std::optional<Printed> printed_number(std::string_view text) {
  Printed p;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), p.value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(p.value))
    return std::nullopt;
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::size_t point = std::min(text.find('.'), e);
  int digits = static_cast<int>(std::min<std::size_t>(point < e ? e - point - 1 : 0, 400));
  int exponent = 0;
  if (e < text.size()) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    std::from_chars(power.data(), power.data() + power.size(), exponent);
  }
  p.ulp = std::pow(10.0, exponent - digits);
  return p;
}

bool is_rate_of(const Printed& bandwidth, double bytes, const Printed& us, double giga) {
  const double slowest = bytes / ((us.value + us.ulp) * 1e-6) / giga;
  const double shortest = us.value - us.ulp;
  const double fastest =
      shortest > 0 ? bytes / (shortest * 1e-6) / giga : std::numeric_limits<double>::infinity();
  return bandwidth.value + bandwidth.ulp >= slowest * (1 - kSlack) &&
         bandwidth.value - bandwidth.ulp <= fastest * (1 + kSlack);
}

bool is_multiple_of(const Printed& busbw, const Printed& algbw, double factor) {
  return std::abs(busbw.value - factor * algbw.value) <=
         (busbw.ulp + factor * algbw.ulp) * (1 + kSlack) + kSlack * busbw.value;
}

}  // namespace trnplan::logs
