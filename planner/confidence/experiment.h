// How sure a ranking is, and which measurement would make it surer.
//
// Preposterior analysis (models/uncertainty/posterior.h) of the first two plans. Not known are, as logarithms
// around what was predicted:
//   theta    parameters and stacks, with the profile's covariance
//   shared   a stack that the profile does not know, the same for every run (stack_spread, release_spread)
//   own      of each plan, what the model misses of its configuration (configuration_spread)
//   build    of nccom-test: what its bandwidths may reach of the training stack's, and its launch and barrier
// A run of plan A sees g_A' theta + shared + own_A with repeat_spread; runs of both are looked at by their
// ratio, in which all that is shared cancels. A row of nccom-test sees its own gradient, the build's, and
// noise, as the fit of a profile takes it (calibrate/fit/step_fit.h), each row for itself. Known limits: the
// errors of rows of one table are alike in truth, so tables promise too much; runs on the same nodes and day
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

/// Steps of a short run: a first one that compiles and loads, which the readers of logs leave out, and ten.
inline constexpr int kShortRunSteps = 11;

/// What measuring takes; catalog/measuring.json and `restart` of catalog/reliability.json.
struct MeasuringTimes {
  Seconds compile{};     ///< the graphs of a plan, before its first run, on its nodes
  Seconds start{};       ///< of a run: processes, loading, warming up
  Seconds nccom_test{};  ///< one table
};

/// One thing that could be measured, and what it is worth.
struct Experiment {
  std::vector<TableRequest> tables;  ///< empty: runs
  int runs_of_first = 0, runs_of_second = 0;
  double probability = 0;  ///< expected, that the plan chosen after it is the better one
  double gain = 0;         ///< expected, of choosing then instead of now: share of the step
  double gain_usd = 0;     ///< that share of the job's run with the first plan; 0: tokens or price not known
  double gain_node_hours =
      0;  ///< that share of the run's node-hours; of ConfidenceOptions::unstated_run without tokens
  double node_hours = 0;
  double usd = 0;  ///< on demand; 0: no price is known
  /// Of runs: the second plan is the better guess when what is measured lies below `threshold` (`above`:
  /// above it): its step over the first's, or with runs of one only that one's step in seconds. 0 for tables,
  /// whose rows go into a profile.
  double threshold = 0;
  bool above = false;
};

/// The recommended plan against its rival: the fastest, or where that is recommended the next one that is no near twin.
struct Comparison {
  double probability = 0.5;  ///< that the first is the better one, by the job's objective
  bool told_apart = false;   ///< at least as sure as was asked for
  bool equal = false;        ///< the model sees one and the same step: nothing to be told apart
  /// Of those that are worth more than they cost, the cheapest that brings the expected probability to what was
  /// asked for; without one that does (`decides`), the cheapest of those within one per cent of the best. Absent
  /// when told apart or equal, and where none pays.
  std::optional<Experiment> best;
  bool decides = false;
  /// Some measurement is worth more than it costs over the run; else none is named.
  bool pays = false;
  std::vector<Experiment> considered;  ///< all that teach anything, the cheapest first
  std::size_t first = 0, second = 1;   ///< of the plans that were given
};

struct Confidence {
  double sure = 0.9;  ///< asked for
  /// Of each plan from the second on, that the first is better; absent where the objective puts another
  /// number of nodes last.
  std::vector<std::optional<double>> first_is_better;
  std::optional<Comparison> comparison;  ///< from two plans on that can be compared
  std::optional<double> beats_baseline;  ///< that the recommended one is faster a token than what runs today
};

struct ConfidenceOptions {
  double sure = 0.9;
  MeasuringTimes times;
  TableNoise tables;
  Seconds unstated_run{604800};  ///< how long a run is taken to be whose tokens are not stated
};

/// log(what a token costs with b / with a), in seconds or by the job's objective in USD; absent where that puts another
/// number of nodes last. Cost: O(parameters^2).
std::optional<models::LogRatio> cost_ratio(const models::Job& job, const Plan& a, const Plan& b,
                                           const models::Profile& profile);

/// Plans of one layout, micro-batch and cluster whose steps differ by two per cent at most and so do the seconds that
/// they do not share: other cuts by a layer, norms recomputed or not.
bool near_twins(const Plan& a, const Plan& b);

/// That `first` is better than `other`, by the job's objective; absent where that puts another number of
/// nodes last. Cost: O(parameters^2).
std::optional<double> first_is_better(const models::Job& job, const Plan& first, const Plan& other,
                                      const models::Profile& profile);

/// Better: fewer seconds a token; with objective cost fewer USD. `plans` are those of a search, the fastest first, of
/// which `recommended` is compared; `baseline` may be null. Cost: O(plans * parameters^2), and where the first two are not told apart one
/// StepModel each and some hundred collectives.
Confidence confidence_of(const models::Job& job, const std::vector<Plan>& plans, const Plan* baseline,
                         const models::Profile& profile, const ConfidenceOptions& options,
                         std::size_t recommended = 0);

}  // namespace trnplan::planner
