// A whole run in words: tokens, days and dollars.
#pragma once

#include <string>

#include "planner/cost/run_forecast.h"
#include "units/quantity.h"

namespace trnplan::cli {

/// Three significant digits, without exponent.
std::string figure(double value);
/// Unit in which a time is read: one that it has two of, seconds at least.
struct TimeUnit {
  double seconds;
  const char *symbol, *name;  ///< "d", "days"
};
const TimeUnit& unit_of(Seconds s);
/// "8.10 s", "47.3 min", "43.3 d".
std::string duration(Seconds s);
/// "47.3 minutes", "43.3 days".
std::string run_time(Seconds s);
/// "2T", "1.8T", "500B", "12.5M".
std::string count_text(double value);
/// "714,192 USD".
std::string usd_text(double usd);

/// "30.0 days, 123,840 USD: 50 % likely at least 382B tokens, 90 % likely at least 300B"; or upper bounds of the
/// time for its tokens: one-sided bounds.
std::string run_line(const planner::RunAnswer& run, const planner::RunQuestion& question);

/// Tokens that a run reaches in its time, or the time for its tokens: at the median, and with 90 %. Whole
/// lines, indented by two.
std::string run_text(const planner::RunAnswer& run, const planner::RunQuestion& question);

}  // namespace trnplan::cli
