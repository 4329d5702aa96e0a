#include "cli/text/score_text.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text/table.h"
#include "text/diagnostic.h"
#include "text/figures.h"
#include "units/quantity.h"

namespace trnplan::cli {

namespace {

using calibrate::GroupRegret;
using calibrate::RowScores;
using calibrate::ScoredRow;

constexpr std::size_t kMostReasons = 8;
constexpr std::size_t kLongestReason = 400;  ///< bytes: a fault with its fix

std::string percent(double share) {
  return fmt::format("{:.1f}", 100 * share);
}

std::string answer(const RowScores& scores, const std::vector<std::string>& profiles) {
  const calibrate::ScoreSummary s = calibrate::score_of(scores.of("", "D"));
  const std::size_t done = s.rows - s.skipped;
  std::string out;
  if (s.rows == 0) {
    out = "No row has a measured step time.\n";
  } else if (done == 0) {
    out = fmt::format("None of the {} rows with a measured step time could be predicted.\n", s.rows);
  } else {
    out = fmt::format("{} of {} measured steps predicted: error {} % median, {} % mean", done, s.rows,
                      percent(s.median_ape), percent(s.mape));
    if (s.median_90)
      out += fmt::format(" (90 % of resampled medians: {} to {} %)", percent(s.median_90->first),
                         percent(s.median_90->second));
    out += ".\n";
    if (s.intervals > 0)
      out += fmt::format("{} % of steps are inside their 90 % interval; its half-width is {} % (median).\n",
                         percent(s.coverage_90), percent(s.half_width));
  }
  if (!profiles.empty()) out += fmt::format("By profile {}.\n", fmt::join(profiles, ", "));
  return out;
}

std::string by_source(const RowScores& scores, int width) {
  Table table({{"source", true},
               {"rows"},
               {"predicted"},
               {"median %"},
               {"mean %"},
               {"bias %", false, 2},
               {"cover %", false, 1},
               {"half %", false, 3},
               {"memory %"}});
  for (const std::string& source : scores.sources()) {
    const calibrate::ScoreSummary s = calibrate::score_of(scores.of(source, "D"));
    const calibrate::MemoryErrors memory = calibrate::memory_errors_of(scores.of(source));
    if (s.rows == 0 && memory.rows == 0) continue;
    const bool any = s.rows > s.skipped;
    const auto shown = [&](bool known, double share) { return known ? percent(share) : "-"; };
    table.row({printable(source, 40), fmt::to_string(s.rows), fmt::to_string(s.rows - s.skipped),
               shown(any, s.median_ape), shown(any, s.mape), shown(any, s.bias),
               shown(s.intervals > 0, s.coverage_90), shown(s.intervals > 0, s.half_width),
               shown(memory.rows > 0, memory.median_ape)});
  }
  return "\n" + table.text(width) +
         "median, mean, bias: error of steps; cover, half: coverage and half-width of their 90 % intervals; "
         "memory: median error of the peak, as each source counts it\n";
}

/// A line for each half-width that intervals have, unless all are alike.
std::string reliability(const RowScores& scores, int width) {
  const auto bins = calibrate::interval_bins(scores.of("", "D"));
  if (bins.size() < 2) return "";
  Table table({{"half-width of the 90 % interval", true}, {"rows"}, {"inside %"}});
  std::string from;
  for (const calibrate::IntervalBin& b : bins) {
    const std::string to = b.below ? fmt::format("{:.0f}", 100 * *b.below) : "";
    table.row({to.empty()     ? fmt::format("{} % and more", from)
               : from.empty() ? fmt::format("below {} %", to)
                              : fmt::format("{} to {} %", from, to),
               fmt::to_string(b.rows), percent(b.coverage_90())});
    from = to;
  }
  return "\n" + table.text(width);
}

std::string slow_rows(const RowScores& scores) {
  const calibrate::ScoreSummary s = calibrate::score_of(scores.of("", "", "D"));
  if (s.rows == 0) return "";
  return fmt::format(
      "{} rows of quality D (inconsistent, or in a slow state) are counted separately: error {} % median.\n",
      s.rows, s.rows > s.skipped ? percent(s.median_ape) : "-");
}

std::string choices(const RowScores& scores) {
  std::vector<const GroupRegret*> groups;
  for (const GroupRegret& g : scores.groups) {
    if (g.predicted > 0) groups.push_back(&g);
  }
  if (groups.empty()) return "";
  const calibrate::RegretSummary r = calibrate::regret_of(groups);
  return fmt::format(
      "In {} of five or more layouts, the predicted best is {} % (median), {} % (mean), {} % (worst) "
      "slower than the measured best; a blind choice {} % (mean). The best is found in {}; rank correlation "
      "{:.2f} (median).\n",
      counted(static_cast<std::int64_t>(r.groups), "group"), percent(r.median), percent(r.mean),
      percent(r.worst), percent(r.random), r.best_found, r.rank_correlation);
}

std::string fits(const RowScores& scores) {
  const auto rows = scores.of("");
  const calibrate::FitScore f = calibrate::fit_score_of(rows);
  std::string out;
  if (f.rows > 0)
    out += fmt::format(
        "Fit or out of memory: {} of {} right{}. {} of {} that ran out of memory {} foreseen; {} of {} that "
        "fitted {} called too large.\n",
        f.right, f.rows,
        f.unknown == 0
            ? ""
            : fmt::format("; {} more {} no prediction", f.unknown, f.unknown == 1 ? "has" : "have"),
        f.oom_caught, f.oom, f.oom_caught == 1 ? "was" : "were", f.false_refusals, f.fitting,
        f.false_refusals == 1 ? "was" : "were");
  return out;
}

std::string refusals(const RowScores& scores) {
  if (scores.skipped.empty()) return "";
  std::vector<std::pair<std::size_t, std::string>> reasons;
  std::size_t all = 0;
  for (const auto& [reason, rows] : scores.skipped) {
    reasons.emplace_back(rows, reason);
    all += rows;
  }
  std::stable_sort(reasons.begin(), reasons.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string out = fmt::format("\nNot predicted, {}:\n", counted(static_cast<std::int64_t>(all), "row"));
  for (std::size_t i = 0; i < reasons.size() && i < kMostReasons; ++i)
    out += fmt::format("  {:>6}  {}\n", reasons[i].first, printable(reasons[i].second, kLongestReason));
  if (reasons.size() > kMostReasons)
    out +=
        fmt::format("  and for {} more reasons (--format json lists them)\n", reasons.size() - kMostReasons);
  return out;
}

std::string every_row(const RowScores& scores, int width) {
  Table table({{"row", true},
               {"measured s"},
               {"predicted s"},
               {"error %"},
               {"low s", false, 2},
               {"high s", false, 2},
               {"P fit %", false, 1}},
              "why not");
  const auto seconds = [](const std::optional<double>& v) { return v ? fmt::format("{:.4g}", *v) : "-"; };
  for (const ScoredRow& r : scores.rows) {
    table.row({printable(r.id, 40), r.out_of_memory ? "no fit" : seconds(r.measured), seconds(r.predicted),
               r.scored() ? fmt::format("{:+.1f}", 100 * r.error()) : "-", seconds(r.low), seconds(r.high),
               r.fit_probability ? fmt::format("{:.0f}", 100 * *r.fit_probability) : "-"},
              printable(r.skipped, kLongestReason));
  }
  return "\n" + table.text(width);
}

}  // namespace

std::string row_scores_text(const RowScores& scores, const std::vector<std::string>& profiles, bool each,
                            int width) {
  std::string out = answer(scores, profiles) + choices(scores) + fits(scores) + slow_rows(scores) +
                    by_source(scores, width) + reliability(scores, width) + refusals(scores);
  if (each) out += every_row(scores, width);
  return out;
}

}  // namespace trnplan::cli
