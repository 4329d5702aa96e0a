#include "text/utc_time.h"

#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "units/quantity.h"

namespace trnplan {

namespace {

/// Reads a text from its front.
struct Cursor {
  std::string_view text;

  bool take(char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  }
  std::optional<int> digits(std::size_t count, int least, int most) {
    if (text.size() < count) return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (text[i] < '0' || text[i] > '9') return std::nullopt;
      value = 10 * value + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value >= least && value <= most ? std::optional(value) : std::nullopt;
  }
};

std::optional<std::chrono::sys_days> date_of(Cursor& at) {
  const auto year = at.digits(4, 1970, 9998);
  if (!year || !at.take('-')) return std::nullopt;
  const auto month = at.digits(2, 1, 12);
  if (!month || !at.take('-')) return std::nullopt;
  const auto day = at.digits(2, 1, 31);
  if (!day) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day)));
  return date.ok() ? std::optional(std::chrono::sys_days(date)) : std::nullopt;
}

/// Seconds of "11:30" or "11:30:00.000".
std::optional<int> time_of(Cursor& at) {
  const auto hour = at.digits(2, 0, 23);
  if (!hour || !at.take(':')) return std::nullopt;
  const auto minute = at.digits(2, 0, 59);
  if (!minute) return std::nullopt;
  const int start = *hour * 3600 + *minute * 60;
  if (!at.take(':')) return start;
  const auto second = at.digits(2, 0, 59);
  if (!second) return std::nullopt;
  if (at.take('.'))
    while (!at.text.empty() && at.text.front() >= '0' && at.text.front() <= '9') at.text.remove_prefix(1);
  return start + *second;
}

/// Seconds of "Z", "+01:00", "-0800" or "".
std::optional<int> offset_of(Cursor& at) {
  if (at.text.empty() || at.take('Z')) return 0;
  const int sign = at.take('+') ? 1 : at.take('-') ? -1 : 0;
  const auto hours = at.digits(2, 0, 23);
  at.take(':');
  const auto minutes = at.digits(2, 0, 59);
  if (sign == 0 || !hours || !minutes) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

struct Parts {
  int year;
  unsigned month, day;
  int hour, minute, second;
};

Parts parts_of(double seconds) {
  const double days = std::floor(seconds / kDay);
  const int rest = static_cast<int>(seconds - days * kDay);
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(static_cast<int>(days)))};
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          rest / 3600,
          rest / 60 % 60,
          rest % 60};
}

}  // namespace

std::optional<double> parse_utc(std::string_view text) {
  Cursor at{text};
  const auto date = date_of(at);
  if (!date || (!at.take('T') && !at.take(' '))) return std::nullopt;
  const auto time = time_of(at);
  const auto offset = time ? offset_of(at) : std::nullopt;
  if (!offset || !at.text.empty()) return std::nullopt;
  return static_cast<double>(date->time_since_epoch().count()) * kDay + *time - *offset;
}

std::string utc_text(double seconds) {
  const Parts p = parts_of(seconds);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", p.year, p.month, p.day, p.hour, p.minute);
}

std::string utc_iso(double seconds) {
  const Parts p = parts_of(seconds);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", p.year, p.month, p.day, p.hour, p.minute,
                     p.second);
}

}  // namespace trnplan
