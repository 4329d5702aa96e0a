#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/plan_answer.h"
#include "cli/text/run_text.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
#include "cli/text/whatif_parts.h"
#include "cli/text/wrap.h"
#include "planner/cost/prices.h"
#include "planner/plan/plan.h"
#include "text/diagnostic.h"
#include "text/figures.h"
#include "units/quantity.h"

namespace trnplan::cli {

using planner::WhatIfPoint;
using planner::WhatIfQuestion;

namespace {

/// Most rows of the short answer.
constexpr std::size_t kRowsShown = 8;
/// Most reasons for the lack of a plan.
constexpr std::size_t kReasonsShown = 4;

/// Clusters of the short answer: one of each type or, of one type alone, all that have a plan.
std::vector<const WhatIfPoint*> shown_points(const WhatIfAnswer& a) {
  std::vector<const WhatIfPoint*> all;
  if (a.result.standings.size() > 1) {
    for (const planner::InstanceStanding& s : a.result.standings)
      all.push_back(&a.result.points[static_cast<std::size_t>(s.point)]);
    return all;
  }
  for (const WhatIfPoint& p : a.result.points)
    if (p.plan) all.push_back(&p);
  return all;
}

const planner::InstanceStanding* standing_of(const WhatIfAnswer& a, const WhatIfPoint& p) {
  for (const planner::InstanceStanding& s : a.result.standings)
    if (s.instance == p.instance) return &s;
  return nullptr;
}

/// True if one reason says both: those of memory differ in the closest layout alone.
bool one_reason(const WhatIfPoint& a, const WhatIfPoint& b) {
  return a.why == b.why || (a.too_large && b.too_large);
}

/// Clusters that have no plan, by the reason.
std::string missing_text(const WhatIfAnswer& a) {
  std::string text;
  const auto& points = a.result.points;
  std::size_t lines = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const WhatIfPoint& p = points[i];
    if (p.plan) continue;
    std::string nodes = fmt::to_string(p.nodes);
    for (; i + 1 < points.size() && !points[i + 1].plan && points[i + 1].instance == p.instance &&
           one_reason(p, points[i + 1]);
         ++i)
      nodes += fmt::format(", {}", points[i + 1].nodes);
    if (lines++ < kReasonsShown)
      text += fmt::format("  no plan on {} x {}: {}\n", nodes, printable(p.instance), p.why);
  }
  return text;
}

/// Types without a price of the kind asked for, which no comparison of prices counts, and the kinds that are known.
std::string unpriced_text(const WhatIfAnswer& a, int width) {
  std::string types;
  std::set<std::string> kinds;
  for (const topology::Instance& type : a.question.instances) {
    if (planner::paid_price(type, a.question.prices)) continue;
    types += (types.empty() ? "" : ", ") + printable(type.name);
    for (const topology::Price& other : planner::other_prices(type, a.question.prices.pricing)) {
      std::string kind = other.kind;
      std::replace(kind.begin(), kind.end(), '_', '-');
      kinds.insert(std::move(kind));
    }
  }
  if (types.empty()) return "";
  const bool others = a.result.standings.size() > 1;
  std::string text = (others ? "cheapest %: of types with a price; " : "") +
                     ("no price of this kind is known of " + types) + ": state one with --price";
  if (!kinds.empty()) text += fmt::format(", or see --pricing {}", fmt::join(kinds, " or "));
  return wrapped(text + "\n", width);
}

/// The kind of price of a type that has no usual one; without a kind asked for, that may be any.
std::string other_price_text(const WhatIfAnswer& a, int width) {
  if (a.question.prices.pricing != planner::Pricing::usual) return "";
  std::string text;
  for (const topology::Instance& type : a.question.instances) {
    const std::optional<topology::Price> paid = planner::paid_price(type, a.question.prices);
    if (!paid || paid->is_on_demand() || paid->is_stated()) continue;
    text += wrapped(fmt::format("USD of {}: price of a {}, {:.2f} an hour; none on demand is known\n",
                                printable(type.name), topology::price_words(paid->kind), paid->usd_per_hour),
                    width);
  }
  return text;
}

/// A line for each type at its best number of nodes, or for each number of nodes of one type.
std::string short_table(const WhatIfAnswer& a, int width) {
  const WhatIfQuestion& q = a.question;
  const TimeUnit& unit = run_unit(a);
  const bool far = q.asks_for_tokens(), limited = q.has_limits() && !far;
  const char* kept = q.deadline && q.budget ? "in limits %" : q.deadline ? "in time %" : "in budget %";
  std::vector<Column> columns = {{"", true}, {"type", true}, {"nodes"}, {unit.name}};
  columns.push_back({far ? "tokens" : fmt::format("{} 90 %", unit.name)});
  columns.push_back({far ? "tokens 90 %" : "USD"});
  columns.push_back({"works %"});
  if (limited) columns.push_back({kept});
  if (a.result.standings.size() > 1) columns.push_back({"cheapest %", false, 1});
  Table table(columns, "", 0, 1);
  std::vector<const WhatIfPoint*> points = shown_points(a);
  if (points.empty()) return "";
  const WhatIfPoint* recommended =
      a.result.recommended < 0 ? nullptr : &a.result.points[static_cast<std::size_t>(a.result.recommended)];
  // The recommended one is shown, if need be as the last row.
  if (const auto found = std::find(points.begin(), points.end(), recommended);
      found != points.end() && found - points.begin() >= static_cast<std::ptrdiff_t>(kRowsShown))
    std::rotate(points.begin() + (kRowsShown - 1), found, found + 1);
  bool unknown = false;
  for (std::size_t i = 0; i < points.size() && i < kRowsShown; ++i) {
    const WhatIfPoint& p = *points[i];
    const bool best = &p == recommended;
    const bool compared = p.plan->compared_runs.value_or(1) > 0;
    unknown |= !compared;
    const planner::RunAnswer& run = p.run;
    std::vector<std::string> cells = {
        std::string(best ? "*" : " ") + (compared ? "" : "?"),
        printable(p.instance),
        fmt::to_string(p.nodes),
        figure(run.time.value / unit.seconds),
        far ? count_text(run.tokens_50) : figure(run.time_at_90.value / unit.seconds),
        far       ? count_text(run.tokens_90)
        : run.usd ? grouped(*run.usd)
                  : "-",
        p.plan->works ? fmt::format("{:.0f}", 100 * *p.plan->works) : "-"};
    if (limited)
      cells.push_back(q.budget && !run.usd ? "-" : fmt::format("{:.0f}", 100 * run.probability_in_limits()));
    if (a.result.standings.size() > 1) {
      const planner::InstanceStanding* s = standing_of(a, p);
      cells.push_back(s != nullptr && s->price ? fmt::format("{:.0f}", 100 * s->cheapest) : "-");
    }
    table.row(std::move(cells));
  }
  std::string text = "\n" + table.text(width);
  if (points.size() > kRowsShown) text += fmt::format("{} more: --details\n", points.size() - kRowsShown);
  if (limited)
    text += std::string(kept).substr(0, std::string(kept).size() - 2) + ": that it works and keeps them; ";
  text += fmt::format("{} do not include waiting for nodes\n", unit.name);
  if (unknown) text += "?: no step of this training loop on such a machine was ever compared\n";
  return text;
}

/// Numbers of nodes that were solved for, in a sentence.
std::string solved_text(const WhatIfAnswer& a, const WhatIfPoint& p) {
  if (p.resolution == 0 || !p.keeps(a.question)) return "";
  const bool fewest = a.question.deadline.has_value();
  if (fewest && p.nodes == 1) return "";
  if (p.resolution == 1)
    return fmt::format("  {} nodes of {} miss the limits more often.\n", fewest ? "Fewer" : "More",
                       printable(p.instance));
  return fmt::format("  {} nodes of {} miss the limits more often; numbers in between were not tried.\n",
                     fewest ? p.nodes - p.resolution : p.nodes + p.resolution, printable(p.instance));
}

}  // namespace

std::string short_whatif_text(const WhatIfAnswer& a, int width) {
  const auto& r = a.result;
  std::string text = question_text(a);
  const WhatIfPoint* best = r.recommended >= 0 ? &r.points[static_cast<std::size_t>(r.recommended)] : nullptr;
  if (best == nullptr) {
    text += none_text(a);
  } else {
    if (r.standings.size() > 1) {
      text += fmt::format("{}: {}\n{}\n", cluster_words(*best), run_line(best->run, run_question(a.question)),
                          r.because);
    } else {
      text += fmt::format("Recommended: {}, {}\n  {}\n", cluster_words(*best), r.reason,
                          run_line(best->run, run_question(a.question)));
    }
    text += solved_text(a, *best);
    if (r.surer >= 0) {
      const WhatIfPoint& surer = r.points[static_cast<std::size_t>(r.surer)];
      text += fmt::format("  safer       {}{}: if it works, 90 % likely to keep {}\n", cluster_words(surer),
                          surer.run.usd ? ", " + usd_text(*surer.run.usd) : "",
                          a.question.deadline ? "the deadline" : "the budget");
    }
    if (const std::string commitment = best->run.bill ? best->run.bill->commitment(best->run.time) : "";
        !commitment.empty())
      text += "  term        " + commitment + "\n";
    if (const std::string unknown = unknown_text(*best->plan); !unknown.empty())
      text += "  unknown     " + unknown + "\n";
    if (const auto batch = planner::waiting_stages(*best->plan))
      text += fmt::format(
          "  batch       stages wait {:.0f} % of the step; with a global batch of {} about {:.0f} %\n",
          100 * batch->share, batch->enough, 100 * planner::kLittleWaiting);
  }
  return text + short_table(a, width) + other_price_text(a, width) + unpriced_text(a, width) +
         missing_text(a) + "\n" + next_text(a);
}

}  // namespace trnplan::cli
