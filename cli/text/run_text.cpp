#include "cli/text/run_text.h"

#include <cmath>

#include <fmt/format.h>

#include "cli/text/text.h"
#include "text/figures.h"
#include "units/quantity.h"

namespace trnplan::cli {

namespace {

std::string cost(const std::optional<double>& usd) {
  return usd ? ", " + usd_text(*usd) : std::string();
}

std::string time_and_cost(Seconds time, const std::optional<double>& usd) {
  return run_time(time) + (usd ? " and " + usd_text(*usd) : std::string());
}

/// Assumptions of a run's probabilities.
std::string if_it_works(const planner::RunAnswer& run) {
  if (!(run.works < 1)) return "";
  return fmt::format(" if it fits and {} ({})", run.compiles ? "compiles" : "runs",
                     short_probability(run.works));
}

/// Reminder that the probabilities after it are those of a plan that works.
const char* if_so(const planner::RunAnswer& run) {
  return run.works < 1 ? "if it works, " : "";
}

/// Progress that the run reaches. The time is used in any case, so there is one cost.
std::string reached_text(const planner::RunAnswer& run, const planner::RunQuestion& q) {
  const bool by_budget = q.budget && run.usd && (!q.deadline || run.time < *q.deadline);
  std::string text = fmt::format("  time        {}{}{}\n", run_time(run.time), cost(run.usd),
                                 by_budget ? ": what the budget buys" : "");
  text += fmt::format("  reached     {}50 % likely at least {} tokens, 90 % likely at least {}\n", if_so(run),
                      count_text(run.tokens_50), count_text(run.tokens_90));
  if (!run.usd) return text;
  const double billion = 1e9;
  return text + fmt::format("              {} USD per billion tokens, 90 % likely at most {}\n",
                            figure(*run.usd / run.tokens_50 * billion),
                            run.tokens_90 > 0 ? figure(*run.usd / run.tokens_90 * billion) : "any");
}

std::string taken_text(const planner::RunAnswer& run, const planner::RunQuestion& q) {
  const double unit = unit_of(run.time).seconds;
  std::string text = fmt::format("  whole run   {}, 90 % between {} and {}", run_time(run.time),
                                 figure(run.time_90.low / unit), figure(run.time_90.high / unit));
  if (q.deadline)
    text += fmt::format("; in time with probability {}{}", short_probability(run.in_time), if_it_works(run));
  text += fmt::format("\n  {:<12}50 % likely within {}; 90 %: {}", run.works < 1 ? "if it works" : "",
                      time_and_cost(run.time, run.usd), time_and_cost(run.time_at_90, run.usd_at_90));
  if (q.budget)
    text += fmt::format("; in the budget with probability {}{}", short_probability(run.in_budget),
                        q.deadline ? "" : if_it_works(run));
  return text + "\n";
}

}  // namespace

std::string figure(double value) {
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  return fmt::format("{:.{}f}", value, digits);
}

const TimeUnit& unit_of(Seconds s) {
  constexpr double kFewest = 2;
  static constexpr TimeUnit kUnits[] = {
      {kDay, "d", "days"}, {kHour, "h", "hours"}, {60, "min", "minutes"}, {1, "s", "seconds"}};
  const TimeUnit* unit = kUnits;
  while (unit->seconds > 1 && s.value < kFewest * unit->seconds) ++unit;
  return *unit;
}

std::string duration(Seconds s) {
  const TimeUnit& unit = unit_of(s);
  return fmt::format("{} {}", figure(s.value / unit.seconds), unit.symbol);
}

std::string run_time(Seconds s) {
  const TimeUnit& unit = unit_of(s);
  return fmt::format("{} {}", figure(s.value / unit.seconds), unit.name);
}

std::string count_text(double value) {
  if (value >= 1e12) return fmt::format("{:.4g}T", value / 1e12);
  if (value >= 1e9) return fmt::format("{:.4g}B", value / 1e9);
  return value >= 1e5 ? fmt::format("{:.4g}M", value / 1e6) : grouped(value);
}

std::string usd_text(double usd) {
  return grouped(std::round(usd)) + " USD";
}

std::string run_line(const planner::RunAnswer& run, const planner::RunQuestion& q) {
  if (q.asks_for_tokens()) {
    return fmt::format("{}{}: {}50 % likely at least {} tokens, 90 % likely at least {}", run_time(run.time),
                       cost(run.usd), if_so(run), count_text(run.tokens_50), count_text(run.tokens_90));
  }
  return fmt::format("{} tokens, {}50 % likely to end within {}; 90 % likely within {}", count_text(q.tokens),
                     if_so(run), time_and_cost(run.time, run.usd),
                     time_and_cost(run.time_at_90, run.usd_at_90));
}

std::string run_text(const planner::RunAnswer& run, const planner::RunQuestion& q) {
  return q.asks_for_tokens() ? reached_text(run, q) : taken_text(run, q);
}

}  // namespace trnplan::cli
