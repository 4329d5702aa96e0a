#include "io/output/cluster_json.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "units/quantity.h"

namespace trnplan::io {

using planner::ClusterAnswer;
using planner::ClusterOption;
using planner::ClusterOptions;
using planner::JobEstimate;
using planner::OverRuns;

namespace {

std::optional<double> if_finite(double value) {
  return value < kInfinity ? std::optional(value) : std::nullopt;
}

/// A job of the answer.
struct ShownClusterJob {
  const ClusterAnswer* answer;
  std::size_t at;
  const planner::ClusterJob* job;
  const planner::AnsweredClusterJob* answered;
  const JobEstimate* estimate;
};

/// A number over all runs, in `unit`.
struct ShownOverRuns {
  const OverRuns* of;
  double unit;
};

std::vector<ShownClusterJob> jobs_of(const ClusterAnswer& a) {
  std::vector<ShownClusterJob> all;
  for (std::size_t i = 0; i < a.jobs.size(); ++i)
    all.push_back({&a, i, &a.setup.jobs[i], &a.jobs[i], &a.estimate.jobs[i]});
  return all;
}

/// Of a job that does not end in the median run, nothing but its days.
const OverRuns& shown_of(const JobEstimate& e, OverRuns JobEstimate::*member) {
  static const OverRuns none{kInfinity, {kInfinity, kInfinity}};
  return e.wall.median < kInfinity || member == &JobEstimate::wall ? e.*member : none;
}

auto over_runs(OverRuns JobEstimate::*member, double unit) {
  return [member, unit](const ShownClusterJob& j) {
    return ShownOverRuns{&shown_of(*j.estimate, member), unit};
  };
}

/// Seconds of a node in USD.
std::optional<ShownOverRuns> usd_of(const ShownClusterJob& j) {
  const std::optional<double>& price = j.answer->usd_per_node_hour;
  if (!price || !(*price > 0)) return std::nullopt;
  return ShownOverRuns{&shown_of(*j.estimate, &JobEstimate::node_seconds), kHour / *price};
}

std::optional<ClusterOptions> if_asked(const ClusterOptions& o) {
  return o.rows.empty() ? std::nullopt : std::optional(o);
}

std::optional<double> repair_hours(const ClusterAnswer& a) {
  return a.setup.repair ? std::optional(in_hours(*a.setup.repair)) : std::nullopt;
}

}  // namespace

template <>
const Record<ShownOverRuns>& record() {
  static const Record<ShownOverRuns> described(
      "OverRuns", "A number over all simulated runs.",
      {{"median", [](const ShownOverRuns& o) { return if_finite(o.of->median / o.unit); },
        "`null`: the job does not end"},
       {"low", [](const ShownOverRuns& o) { return if_finite(o.of->ninety.low / o.unit); }, "5 % are below"},
       {"high", [](const ShownOverRuns& o) { return if_finite(o.of->ninety.high / o.unit); },
        "5 % are above"}});
  return described;
}

template <>
const Record<ShownClusterJob>& record() {
  const auto job = [](auto get) { return path(&ShownClusterJob::job, get); };
  const auto answered = [](auto get) { return path(&ShownClusterJob::answered, get); };
  static const Record<ShownClusterJob> described(
      "ClusterJob", "A job of a cluster over time.",
      {{"name", job(&planner::ClusterJob::name)},
       {"model", answered(&planner::AnsweredClusterJob::model)},
       {"nodes", job(&planner::ClusterJob::nodes)},
       {"strategy", answered(&planner::AnsweredClusterJob::strategy), "as for `simulate --strategy`"},
       {"tokens", answered(&planner::AnsweredClusterJob::tokens)},
       {"priority", job(&planner::ClusterJob::priority)},
       {"step_seconds", job(&planner::ClusterJob::step), "alone on the cluster"},
       {"step_low_seconds", answered(&planner::AnsweredClusterJob::low), "90 % interval"},
       {"step_high_seconds", answered(&planner::AnsweredClusterJob::high)},
       {"step_together_seconds", answered(&planner::AnsweredClusterJob::together),
        "on average while all other jobs train; if not all fit, the one that slows it most"},
       {"step_together_most_seconds", answered(&planner::AnsweredClusterJob::together_most),
        "if the others loaded the spine all the time"},
       {"spine_share", answered(&planner::AnsweredClusterJob::on_spine),
        "share of its step in which it loads the spine"},
       {"checkpoint_steps", job(&planner::ClusterJob::every_steps), "steps between checkpoints"},
       {"days", over_runs(&JobEstimate::wall, kDay), "from its submission to its end"},
       {"waiting_hours", over_runs(&JobEstimate::queued, kHour), "without the nodes it needs"},
       {"recovering_hours", over_runs(&JobEstimate::recovering, kHour),
        "from failures until it trains again, without `waiting_hours`"},
       {"failures", over_runs(&JobEstimate::failures, 1)},
       {"goodput", over_runs(&JobEstimate::goodput, 1),
        "time of its steps, alone, over the time since its first start"},
       {"goodput_alone", path(&ShownClusterJob::estimate, &JobEstimate::alone),
        "by the closed form ([models.md](models.md#goodput)): alone, and nodes are replaced without waiting"},
       {"usd", &usd_of, "of the nodes that it held; `null` without a price"}});
  return described;
}

template <>
const Record<ClusterOption>& record() {
  static const Record<ClusterOption> described(
      "ClusterOption", "The cluster with one setting changed.",
      {{"value", &ClusterOption::value, "of the setting; 0 steps between checkpoints: each job's best"},
       {"days",
        [](const ClusterOption& o) {
          return ShownOverRuns{&o.span, kDay};
        },
        "until the last job ends"},
       {"ended", &ClusterOption::ended, "share of the runs in which every job ends"},
       {"usd", &ClusterOption::usd, "of all nodes and spares for the median days"}});
  return described;
}

template <>
const Record<ClusterOptions>& record() {
  static const Record<ClusterOptions> described(
      "ClusterOptions", "The cluster with each value of a setting, on the same failures.",
      {{"rows", &ClusterOptions::rows},
       {"recommended", &ClusterOptions::recommended,
        "index into `rows`: the cheapest number of spares (without a price the fewest within 1 % of the "
        "shortest), the interval with the fewest days; -1: the jobs end with none"},
       {"tied", &ClusterOptions::tied, "indices of rows that the runs do not distinguish from it"}});
  return described;
}

template <>
const Record<ClusterAnswer>& record() {
  const auto setup = [](auto get) { return path(&ClusterAnswer::setup, get); };
  static const Record<ClusterAnswer> described(
      "ClusterResult", "Jobs on one cluster over time.",
      {{"instance", &ClusterAnswer::instance},
       {"nodes", setup(&planner::ClusterSetup::nodes), "without spares"},
       {"spares", setup(&planner::ClusterSetup::spares)},
       {"oversubscription", &ClusterAnswer::oversubscription},
       {"scheduler", &ClusterAnswer::scheduler},
       {"reliability", &ClusterAnswer::reliability},
       {"repair_hours", &repair_hours, "of a node; `null`: `replacement` of the failure parameters"},
       {"repair_slots", setup(&planner::ClusterSetup::repair_slots), "nodes repaired at a time; 0: all"},
       {"usd_per_node_hour", &ClusterAnswer::usd_per_node_hour},
       {"runs", &ClusterAnswer::runs},
       {"days",
        [](const ClusterAnswer& a) {
          return ShownOverRuns{&a.estimate.span, kDay};
        },
        "until the last job ends"},
       {"ended", path(&ClusterAnswer::estimate, &planner::ClusterEstimate::ended),
        "share of the runs in which every job ends"},
       {"given_up_days",
        [](const ClusterAnswer& a) {
          return a.estimate.ended < 1 ? std::optional(a.estimate.given_up / kDay) : std::nullopt;
        },
        "time of the cluster after which the other runs were given up, their median"},
       {"use",
        [](const ClusterAnswer& a) {
          return ShownOverRuns{&a.estimate.use, 1};
        },
        "share of the time of all nodes and spares in which a job made progress"},
       {"usd",
        [](const ClusterAnswer& a) {
          const double span = a.estimate.span.median;
          return span < kInfinity ? planner::cluster_usd(a.setup, a.usd_per_node_hour, span) : std::nullopt;
        },
        "of all nodes and spares for the median days"},
       {"jobs", &jobs_of, "in the order of the file"},
       {"spares_asked", [](const ClusterAnswer& a) { return if_asked(a.spares); }, "of `--spares`"},
       {"checkpoint_steps_asked", [](const ClusterAnswer& a) { return if_asked(a.checkpoints); },
        "of `--checkpoint-steps`"}});
  return described;
}

std::string cluster_json(const ClusterAnswer& answer) {
  return document_of(answer);
}

const Description& cluster_document() {
  return record<ClusterAnswer>().description();
}

}  // namespace trnplan::io
