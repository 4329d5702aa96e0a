// Probability that a ranking is right, and measurements that would raise it.
//
// Preposterior analysis (models/uncertainty/posterior.h) of the first two plans. The unknowns are logarithms
// around the predictions:
//   theta    parameters and stacks, with the profile's covariance
//   shared   a stack that the profile does not contain, the same for every run (stack_spread, release_spread)
//   own      for each plan, the model's error for its configuration (configuration_spread)
//   build    for nccom-test: the share of the training stack's bandwidths that it reaches, and its launch and
//            barrier
// A run of plan A observes g_A' theta + shared + own_A with repeat_spread; runs of both are compared by their
// ratio, in which all that is shared cancels. A row of nccom-test observes its own gradient, the build's, and
// noise, as in the fit of a profile (calibrate/fit/step_fit.h), each row independently. Known limits: the
// true errors of rows of one table are similar, so tables promise too much; runs on the same nodes and day
// differ by less than repeat_spread, so runs promise too little.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "models/uncertainty/compare.h"
#include "planner/confidence/tables.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// Steps of a short run: a first one that compiles and loads, which the readers of logs leave out, and ten
/// more.
inline constexpr int kShortRunSteps = 11;

/// Times of measurements; catalog/measuring.json and `restart` of catalog/reliability.json.
struct MeasuringTimes {
  Seconds compile{};     ///< the graphs of a plan, before its first run, on its nodes
  Seconds start{};       ///< for a run: processes, loading, warming up
  Seconds nccom_test{};  ///< one table
};

/// One possible measurement, and its value.
struct Experiment {
  std::vector<TableRequest> tables;  ///< empty: runs
  int runs_of_first = 0, runs_of_second = 0;
  double probability = 0;  ///< expected probability that the plan chosen after it is the better one
  double gain = 0;         ///< expected gain of choosing then instead of now: share of the step
  double gain_usd = 0;     ///< that share of the job's run with the first plan; 0: tokens or price not known
  double gain_node_hours =
      0;  ///< that share of the run's node-hours; of ConfidenceOptions::unstated_run without tokens
  double node_hours = 0;
  double usd = 0;  ///< on demand; 0: no price is known
  /// Decision rule for runs: the second plan is the better guess if the measured value is below `threshold`
  /// (`above`: above it). The value is its step over the first's, or with runs of one plan only, that plan's
  /// step in seconds. 0 for tables, whose rows go into a profile.
  double threshold = 0;
  bool above = false;
};

/// The recommended plan against the runner-up: the fastest plan or, if that is the recommended one, the next
/// one that is no near twin.
struct Comparison {
  double probability = 0.5;  ///< that the first is the better one, by the job's objective
  bool told_apart = false;   ///< at least the requested probability
  bool equal = false;        ///< the model predicts the same step for both: there is nothing to decide
  /// The cheapest experiment that raises the expected probability to the requested one, among those that are
  /// worth more than they cost; `decides` is then true. If there is none, the cheapest of those within one
  /// per cent of the best. Absent if the plans are distinguished or equal, and if no experiment pays.
  std::optional<Experiment> best;
  bool decides = false;
  /// True if some measurement is worth more than it costs over the run; else none is named.
  bool pays = false;
  std::vector<Experiment> considered;  ///< all that give information, the cheapest first
  std::size_t first = 0, second = 1;   ///< indices of the given plans
};

struct Confidence {
  double sure = 0.9;  ///< requested probability
  /// Probability that the first plan is better than each plan from the second on; absent if the objective
  /// ranks that plan last for its number of nodes.
  std::vector<std::optional<double>> first_is_better;
  std::optional<Comparison> comparison;  ///< if there are two plans that can be compared
  std::optional<double> beats_baseline;  ///< that the recommended plan costs less time per token than today's
};

struct ConfidenceOptions {
  double sure = 0.9;
  MeasuringTimes times;
  TableNoise tables;
  Seconds unstated_run{604800};  ///< assumed length of a run without stated tokens
};

/// log(cost of a token with b / with a), in seconds or by the job's objective in USD; absent if the objective
/// ranks one of them last for its number of nodes. Cost: O(parameters^2).
std::optional<models::LogRatio> cost_ratio(const models::Job& job, const Plan& a, const Plan& b,
                                           const models::Profile& profile);

/// True for plans of one layout, micro-batch and cluster that differ by two per cent at most, both in their
/// steps and in the seconds that they do not share: other cuts by a layer, norms recomputed or not.
bool near_twins(const Plan& a, const Plan& b);

/// Probability that `first` is better than `other`, by the job's objective; absent if the objective ranks one
/// of them last for its number of nodes. Cost: O(parameters^2).
std::optional<double> first_is_better(const models::Job& job, const Plan& first, const Plan& other,
                                      const models::Profile& profile);

/// Returns the confidence in a ranking. Better means fewer seconds per token, or with objective cost fewer
/// USD. `plans` are those of a search, the fastest first; `recommended` is the one that is compared;
/// `baseline` may be null. Cost: O(plans * parameters^2), and if the first two are not distinguished, one
/// StepModel each and some hundred collectives.
Confidence confidence_of(const models::Job& job, const std::vector<Plan>& plans, const Plan* baseline,
                         const models::Profile& profile, const ConfidenceOptions& options,
                         std::size_t recommended = 0);

}  // namespace trnplan::planner
