#include "cli/text/cluster_text.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cli/text/run_text.h"
#include "cli/text/table.h"
#include "cli/text/text.h"
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

/// The interval of `runs` runs; "-" of one, and of what never ends.
std::string interval_text(const OverRuns& o, int runs) {
  return runs > 1 && o.ninety.low < kInfinity ? between_text(o, kDay) : "-";
}

std::string usd_or_dash(const std::optional<double>& usd) {
  return usd ? grouped(*usd) : "-";
}

std::string ends_text(const ClusterAnswer& a) {
  const planner::ClusterEstimate& e = a.estimate;
  if (!(e.span.median < kInfinity)) {
    return fmt::format(
        "not all jobs end: {:.0f} % of the runs were given up, after {} of the cluster's time (median), when "
        "a job would have needed more than {:.0f} years or {} failures at its pace, or no node would ever be "
        "free",
        100 * (1 - e.ended), duration(Seconds(e.given_up)), in_days(planner::kLongestRun) / 365,
        grouped(planner::kMostFailures));
  }
  std::string text = fmt::format("the last job ends after {} days", figure_in(e.span.median, kDay));
  if (a.runs > 1)
    text += e.span.ninety.high < kInfinity
                ? fmt::format(", 90 % between {} days", between_text(e.span, kDay, " and "))
                : fmt::format(", 90 % between {} days and never", figure_in(e.span.ninety.low, kDay));
  if (const auto usd = planner::cluster_usd(a.setup, a.usd_per_node_hour, e.span.median))
    text += "; " + usd_text(*usd);
  return text;
}

/// Runs in which some job never ends, where the median run ends.
std::string never_text(const ClusterAnswer& a) {
  const planner::ClusterEstimate& e = a.estimate;
  if (e.ended == 1 || !(e.span.median < kInfinity)) return "";
  const char* why =
      a.setup.rule->keeps_nodes() && a.jobs.size() > 1
          ? "jobs that wait keep nodes that others wait for, or failures come faster than progress"
          : "failures come faster than progress, or no node is ever free";
  return fmt::format("never: in {} of the runs some job does not end, as {}\n", probability_text(1 - e.ended),
                     why);
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
    const bool ends = e.wall.median < kInfinity;
    if (a.usd_per_node_hour && ends) usd = *a.usd_per_node_hour * e.node_seconds.median / kHour;
    table.row({printable(job.name, 24), fmt::to_string(job.nodes), figure(job.step.value),
               figure_in(e.wall.median, kDay), interval_text(e.wall, a.runs),
               ends ? fmt::format("{:.2f}", 100 * e.goodput.median) : "-",
               ends ? fmt::format("{:.0f}", e.failures.median) : "-",
               ends ? figure_in(e.queued.median, kHour) : "-", usd_or_dash(usd)});
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
  if (text.empty()) return text;
  return fmt::format("Shared spine: while {}, a step takes longer: {}\n",
                     a.all_fit ? "all train" : "another trains next to it", text);
}

/// `zero`: what the value 0 stands for.
std::string options_text(const ClusterOptions& o, const char* header, const char* zero, int runs, int width) {
  if (o.rows.empty()) return "";
  Table table({{"", true}, {header}, {"days"}, {"90 % interval"}, {"USD"}}, "", 0);
  for (std::size_t i = 0; i < o.rows.size(); ++i) {
    const ClusterOption& row = o.rows[i];
    table.row({static_cast<int>(i) == o.recommended && o.rows.size() > 1 ? "*" : " ",
               row.value > 0 ? fmt::to_string(row.value) : zero, figure_in(row.span.median, kDay),
               interval_text(row.span, runs), usd_or_dash(row.usd)});
  }
  return "\n" + table.text(width);
}

/// Values that the runs do not distinguish from the recommended one.
std::string tied_text(const ClusterOptions& o, const char* zero) {
  std::string text;
  for (const int i : o.tied) {
    const int value = o.rows[static_cast<std::size_t>(i)].value;
    text += (text.empty() ? "" : ", ") + (value > 0 ? fmt::to_string(value) : zero);
  }
  return text.empty() ? text : "; these runs do not distinguish it from " + text;
}

/// The value to take, in a sentence; "" if none was asked for.
std::string recommendation_text(const ClusterAnswer& a) {
  std::string text;
  const auto best = [](const ClusterOptions& o) {
    const bool chosen = o.recommended >= 0 && o.rows.size() > 1;
    return chosen ? &o.rows[static_cast<std::size_t>(o.recommended)] : nullptr;
  };
  if (const ClusterOption* row = best(a.spares)) {
    text += fmt::format("Recommended: {}, {}{}\n", counted(row->value, "spare"),
                        row->usd ? "the cheapest" : "the fewest within 1 % of the shortest time",
                        tied_text(a.spares, "0"));
  }
  if (const ClusterOption* row = best(a.checkpoints)) {
    const std::string what = row->value > 0 ? fmt::format("a checkpoint every {} steps", row->value)
                                            : std::string("each job's best interval");
    text += fmt::format("Recommended: {}{}{}\n", what, a.checkpoints.tied.empty() ? ", the fewest days" : "",
                        tied_text(a.checkpoints, "best"));
  }
  return text;
}

}  // namespace

std::string cluster_text(const ClusterAnswer& a, int width) {
  std::string text = recommendation_text(a);
  text += fmt::format("{} on {} x {} and {} ({}): {}\n\n",
                      counted(static_cast<std::int64_t>(a.jobs.size()), "job"), a.setup.nodes,
                      printable(a.instance), counted(a.setup.spares, "spare"), a.scheduler, ends_text(a));
  text += job_table(a, width);
  text += a.runs > 1 ? "90 % interval: of " + grouped(a.runs) + " runs; "
                     : "One run, so there are no intervals; ";
  text +=
      "goodput: of the time since a job's first start; USD: of the nodes that it held, above of all nodes "
      "and spares; failures: their median\n";
  text += never_text(a) + settings_text(a) + spine_text(a);
  if (a.estimate.span.median < kInfinity)
    text += fmt::format("Jobs make progress in {:.0f} % of the time of all nodes and spares.\n",
                        100 * a.estimate.use.median);
  text += options_text(a.spares, "spares", "0", a.runs, width) +
          options_text(a.checkpoints, "checkpoint steps", "best", a.runs, width);
  return text;
}

}  // namespace trnplan::cli
