#include "cli/text/compare_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cli/text/run_text.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "planner/plan/strategy_grammar.h"
#include "text/diagnostic.h"
#include "units/quantity.h"

namespace trnplan::cli {

namespace {

using planner::ComparedPlan;
using planner::PartSeconds;
using planner::Plan;
using planner::PlanComparison;

using Both = std::array<std::string, 2>;
struct Line {
  std::string what;
  Both of;
};

template <class Words>
void add(std::vector<Line>& lines, std::string what, const PlanComparison& c, Words words) {
  Line line{std::move(what), {words(c.plans[0].plan), words(c.plans[1].plan)}};
  if (!line.of[0].empty() || !line.of[1].empty()) lines.push_back(std::move(line));
}

std::string share(const std::optional<double>& probability) {
  return probability ? short_probability(*probability) : std::string();
}

std::vector<Line> lines_of(const PlanComparison& c) {
  std::vector<Line> lines;
  add(lines, "step s", c, [](const Plan& p) { return seconds_text(p.report.step); });
  add(lines, "90 % interval", c, [](const Plan& p) {
    return fmt::format("{} - {}", seconds_text(p.report.low), seconds_text(p.report.high));
  });
  add(lines, "tokens/s", c, [](const Plan& p) { return grouped(p.report.tokens_per_second); });
  add(lines, "MFU %", c, [](const Plan& p) { return fmt::format("{:.1f}", 100 * p.report.mfu); });
  add(lines, "memory GiB", c, [](const Plan& p) {
    return fmt::format("{} of {}", gib(p.memory.worst().peak()), gib(p.memory.limit));
  });
  add(lines, "fits", c, [](const Plan& p) { return short_probability(fits_probability(p)); });
  add(lines, "works", c, [](const Plan& p) { return share(p.works); });
  const bool unlike = c.plans[0].plan.price_kind != c.plans[1].plan.price_kind;
  add(lines, "USD per 1e9 tokens", c, [&](const Plan& p) {
    if (!(p.usd_per_hour > 0)) return std::string();
    const std::string usd = fmt::format("{:.2f}", usd_per_billion_tokens(p));
    return unlike ? fmt::format("{} {}", usd, topology::price_words(p.price_kind)) : usd;
  });
  const TimeUnit& unit = unit_of(std::max(c.plans[0].plan.run, c.plans[1].plan.run));
  add(lines, fmt::format("{}, no failures", unit.name), c, [&](const Plan& p) {
    return p.run.value > 0 ? fmt::format("{:.1f}", p.run.value / unit.seconds) : std::string();
  });
  return lines;
}

/// Name of a side, its strategy and the rules that it breaks.
std::string side_line(char letter, const ComparedPlan& side) {
  std::string text = fmt::format("{}  {}\n", letter, strategy_words(side.plan.strategy));
  if (const std::string name = printable(side.name); name != planner::strategy_grammar(side.job, side.plan))
    text = fmt::format("{}  {}: {}\n", letter, name, strategy_words(side.plan.strategy));
  for (const planner::Violation& v : side.broken)
    text += fmt::format("   {}: {}: {}\n", v.doubtful ? "doubtful" : "refused", v.rule, v.message);
  return text;
}

/// "B takes 1.08 times as long as A (90 % interval 1.04 to 1.13); A is 99 % likely to be faster."
std::string verdict(const PlanComparison& c) {
  const auto times = planner::times_as_long(c.ratio);
  const double first = c.ratio.positive();
  std::string text = fmt::format("B takes {:.3f} times as long as A", times[1]);
  if (c.step_scale != 1 || !c.shared) text += " for the same tokens";
  if (c.ratio.dominance != models::Dominance::none)
    text += fmt::format(": {} has less to do in some part and more in none, so it is faster",
                        first > 0.5 ? "A" : "B");
  else if (times[0] == times[2])
    text += ": nothing tells them apart";
  else
    text += fmt::format(" (90 % interval {:.3f} to {:.3f}); {} is {} likely to be faster", times[0], times[2],
                        first >= 0.5 ? "A" : "B", short_probability(std::max(first, 1 - first)));
  return text + ".\n";
}

std::string cause(const std::string& part) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(models::Category::count); ++i)
    if (to_string(static_cast<models::Category>(i)) == part)
      return cause_words(static_cast<models::Category>(i));
  return part;
}

Seconds apart(const PartSeconds& p) {
  return p.seconds[1] - p.seconds[0];
}

/// Parts that differ by at least half a per cent of a step, the largest first: at most three causes and three
/// operators.
std::vector<Line> parts_of(const PlanComparison& c) {
  std::vector<PartSeconds> parts = c.by_cause;
  for (PartSeconds& p : parts) p.part = cause(p.part);
  for (const PartSeconds& p : c.by_operator) parts.push_back({"operator " + p.part, p.seconds});
  const auto larger = [](const PartSeconds& p, const PartSeconds& q) {
    return std::abs(apart(p).value) > std::abs(apart(q).value);
  };
  const auto operators = parts.begin() + static_cast<std::ptrdiff_t>(c.by_cause.size());
  std::stable_sort(parts.begin(), operators, larger);
  std::vector<Line> lines;
  int left = 3;
  for (auto p = parts.begin(); p != parts.end(); ++p) {
    if (p == operators) left = 3;
    if (std::abs(apart(*p).value) < 5e-3 * c.plans[0].plan.report.step.value || left-- <= 0) continue;
    lines.push_back({p->part, {seconds_text(p->seconds[0]), seconds_text(p->seconds[1])}});
  }
  return lines;
}

std::string table(const char* heading, const std::vector<Line>& lines, int width) {
  Table all({{heading, true}, {"A"}, {"B"}});
  for (const Line& line : lines) all.row({line.what, line.of[0], line.of[1]});
  return all.text(width);
}

std::string markdown(const char* heading, const std::vector<Line>& lines) {
  std::string text = fmt::format("| {} | A | B |\n| --- | ---: | ---: |\n", heading);
  for (const Line& line : lines) text += fmt::format("| {} | {} | {} |\n", line.what, line.of[0], line.of[1]);
  return text;
}

std::vector<Line> differences(const PlanComparison& c) {
  std::vector<Line> lines;
  for (const planner::KeyDifference& d : c.differs) lines.push_back({d.key, d.values});
  return lines;
}

std::string sides(const PlanComparison& c) {
  return side_line('A', c.plans[0]) + side_line('B', c.plans[1]);
}

constexpr const char* kSeconds = "seconds of a step of A";

}  // namespace

std::string compare_text(const PlanComparison& c, int width) {
  std::string text = verdict(c) + sides(c) + "\n" + table("", lines_of(c), width);
  if (!c.differs.empty()) text += "\n" + table("differs", differences(c), width);
  if (const auto parts = parts_of(c); !parts.empty()) text += "\n" + table(kSeconds, parts, width);
  return text;
}

std::string compare_markdown(const PlanComparison& c) {
  std::string text = verdict(c) + "\n```\n" + sides(c) + "```\n\n" + markdown("", lines_of(c));
  if (!c.differs.empty()) text += "\n" + markdown("differs", differences(c));
  if (const auto parts = parts_of(c); !parts.empty()) text += "\n" + markdown(kSeconds, parts);
  return text;
}

}  // namespace trnplan::cli
