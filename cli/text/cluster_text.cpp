#include "cli/text/cluster_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/text/run_text.h"
#include "cli/text/table.h"
#include "text/diagnostic.h"
#include "text/figures.h"
#include "units/quantity.h"

namespace trnplan::cli {

using planner::ClusterAnswer;
using planner::ClusterOption;
using planner::ClusterOptions;
using planner::OverRuns;

namespace {

std::string figure_in(double value, double unit) {
  return value < kInfinity ? figure(value / unit) : "never";
}

std::string between_text(const OverRuns& o, double unit, const char* and_text = " - ") {
  return figure_in(o.ninety.low, unit) + and_text + figure_in(o.ninety.high, unit);
}

std::string usd_or_dash(const std::optional<double>& usd) {
  return usd ? grouped(*usd) : "-";
}

std::string ends_text(const ClusterAnswer& a) {
  const planner::ClusterEstimate& e = a.estimate;
  if (!(e.span.median < kInfinity)) {
    return fmt::format("not all jobs end: in {:.0f} % of the runs failures come more often than progress",
                       100 * (1 - e.ended));
  }
  std::string text = fmt::format("the last job ends after {} days, 90 % between {} days",
                                 figure_in(e.span.median, kDay), between_text(e.span, kDay, " and "));
  if (const auto usd = planner::cluster_usd(a.setup, a.usd_per_node_hour, e.span.median))
    text += "; " + usd_text(*usd);
  return text;
}

std::string job_table(const ClusterAnswer& a, int width) {
  Table table({{"job", true},
               {"nodes"},
               {"step s", false, 3},
               {"days"},
               {"90 % interval"},
               {"goodput %"},
               {"failures", false, 2},
               {"waiting h", false, 1},
               {"USD"}});
  for (std::size_t i = 0; i < a.jobs.size(); ++i) {
    const planner::JobEstimate& e = a.estimate.jobs[i];
    const planner::ClusterJob& job = a.setup.jobs[i];
    std::optional<double> usd;
    if (a.usd_per_node_hour) usd = *a.usd_per_node_hour * e.node_seconds.median / kHour;
    table.row({printable(job.name, 24), fmt::to_string(job.nodes), figure(job.step.value),
               figure_in(e.wall.median, kDay), between_text(e.wall, kDay),
               fmt::format("{:.2f}", 100 * e.goodput.median), fmt::format("{:.0f}", e.failures.median),
               figure_in(e.queued.median, kHour), usd_or_dash(usd)});
  }
  return table.text(width);
}

/// Lines on the strategy and the checkpoints of each job; of many the first.
std::string settings_text(const ClusterAnswer& a) {
  constexpr std::size_t most = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(a.jobs.size(), most); ++i) {
    const planner::ClusterJob& job = a.setup.jobs[i];
    text += fmt::format("  {}  {} {}, checkpoint every {} steps ({})\n", printable(job.name, 24),
                        printable(a.jobs[i].model), a.jobs[i].strategy, job.every_steps,
                        duration(job.every_steps * job.step));
  }
  return text;
}

/// What jobs on one spine do to each other.
std::string spine_text(const ClusterAnswer& a) {
  std::string text;
  for (std::size_t i = 0; i < a.jobs.size(); ++i) {
    const Seconds alone = a.setup.jobs[i].step;
    if (!(a.jobs[i].together_most > alone)) continue;
    text += fmt::format("{}{} +{:.1f} % (at most {:.1f})", text.empty() ? "" : ", ",
                        printable(a.setup.jobs[i].name, 24), 100 * (a.jobs[i].together / alone - 1),
                        100 * (a.jobs[i].together_most / alone - 1));
  }
  return text.empty() ? text : "Shared spine: while all train, a step takes longer: " + text + "\n";
}

/// `zero`: what the value 0 stands for.
std::string options_text(const ClusterOptions& o, const char* header, const char* zero, int width) {
  if (o.rows.empty()) return "";
  Table table({{"", true}, {header}, {"days"}, {"90 % interval"}, {"USD"}}, "", 0);
  for (std::size_t i = 0; i < o.rows.size(); ++i) {
    const ClusterOption& row = o.rows[i];
    table.row({static_cast<int>(i) == o.recommended ? "*" : " ",
               row.value > 0 ? fmt::to_string(row.value) : zero, figure_in(row.span.median, kDay),
               between_text(row.span, kDay), usd_or_dash(row.usd)});
  }
  return "\n" + table.text(width);
}

/// The value to take, in a sentence; "" if none was asked for.
std::string recommendation_text(const ClusterAnswer& a) {
  std::string text;
  const auto best = [](const ClusterOptions& o) {
    return o.recommended < 0 ? nullptr : &o.rows[static_cast<std::size_t>(o.recommended)];
  };
  if (const ClusterOption* row = best(a.spares)) {
    text += fmt::format("Recommended: {}, {}\n", counted(row->value, "spare"),
                        row->usd ? "the cheapest" : "the fewest within 1 % of the shortest time");
  }
  if (const ClusterOption* row = best(a.checkpoints)) {
    text += row->value > 0
                ? fmt::format("Recommended: a checkpoint every {} steps, the fewest days\n", row->value)
                : "Recommended: each job's best interval, the fewest days\n";
  }
  return text;
}

}  // namespace

std::string cluster_text(const ClusterAnswer& a, int width) {
  std::string text = recommendation_text(a);
  text += fmt::format("{} on {} x {} and {} ({}): {}\n\n",
                      counted(static_cast<std::int64_t>(a.jobs.size()), "job"), a.setup.nodes,
                      printable(a.instance), counted(a.setup.spares, "spare"), a.scheduler, ends_text(a));
  text += job_table(a, width) + settings_text(a) + spine_text(a);
  if (a.estimate.span.median < kInfinity)
    text += fmt::format("Jobs make progress in {:.0f} % of the time of all nodes and spares.\n",
                        100 * a.estimate.use.median);
  text += options_text(a.spares, "spares", "0", width) +
          options_text(a.checkpoints, "checkpoint steps", "best", width);
  return text;
}

}  // namespace trnplan::cli
