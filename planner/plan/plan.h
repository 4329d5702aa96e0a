// A plan: a strategy, its prediction, and the strategies that were refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/memory/memory.h"
#include "models/report/step_report.h"
#include "models/step/graph_size.h"
#include "topology/instance.h"

namespace trnplan::topology {
class ChipGraph;
}

namespace trnplan::models {
class CollectiveMemory;
}

namespace trnplan::planner {

/// The published job nearest to a plan, of those that are known to have run or failed.
struct Experience {
  std::string id, source;  ///< of the nearest job
  std::string words;       ///< "llama3-8b on 1 x TP 32 x PP 1, sequence 8192, micro-batch 1"
  std::string known;       ///< "ran", "ran out of memory", "kept a limit of 2.58 GiB"
  /// Differences, the largest first: "TP 8 against 32" is the plan's value against the job's.
  std::vector<std::string> differences;
  double distance = 0;           ///< from the nearest job to the plan: docs/models.md, "Nearest known case"
  std::string largest_graph_id;  ///< the job with the largest graph that is known to compile
  double largest_graph = 0;      ///< instructions of that graph, counted as the plan's are; 0: none is known
};

/// A rule a strategy breaks. `rule` is an id of api/rules.
struct Violation {
  std::string rule;
  std::string message;
  std::string fix;
  bool doubtful = false;  ///< the runtime may or may not accept it
};

/// A stack that the profile has not learnt on the plan's machine, while it has learnt others there, or this one
/// on other machines.
struct UnmeasuredStack {
  std::string name;
  /// "nxdt 2.23", or "nxdt 2.23 on trn1.32xlarge" where that is another machine.
  std::vector<std::string> measured;
};

/// A strategy that was simulated. It fits in memory. The search makes sure that it is legal;
/// rule_violations() checks that.
struct Plan {
  models::Strategy strategy;
  int nodes = 1;
  std::string instance;
  std::vector<std::string> changed_hardware;                               ///< Instance::changes of it
  topology::Accelerator accelerator = topology::Accelerator::neuron_core;  ///< of `instance`
  int micro_batches = 0;
  int global_batch = 0;  ///< sequences per step
  models::StepReport report;
  models::Memory memory;
  models::GraphSize graph;          ///< the largest that is compiled
  std::optional<Experience> known;  ///< absent where published jobs were not compared
  double usd_per_hour = 0;          ///< all nodes; on-demand price, else the first that is known
  std::string price_kind;           ///< Price::kind of that price; "" without one
  Seconds run{};  ///< of the job's tokens, without failures and checkpoints; zero without tokens
  /// P(it fits, compiles and runs), by its distance from recorded runs; absent: not asked for.
  std::optional<double> works;
  std::optional<double> fits, compiles;  ///< the first two factors of `works`
  double untested_log_sd = 0;            ///< of its step, part of the interval, by that distance
  /// Recorded runs of its training loop on machines of its family whose steps were compared with predictions.
  /// Absent: not asked for.
  std::optional<int> compared_runs;
  std::optional<UnmeasuredStack> unmeasured;         ///< absent: its own was, or none, or not asked for
  std::optional<models::MeasuredAllReduce> network;  ///< that the prediction takes; absent: none
  std::vector<Violation> doubts;                     ///< allowed replica groups that the runtime may refuse
};

/// Probability that the plan fits: by its distance from recorded runs if that was asked for, else by its bytes.
[[nodiscard]] inline double fits_probability(const Plan& plan) {
  return plan.fits.value_or(plan.memory.fit_probability);
}
/// USD for the run at `plan.usd_per_hour`; zero when the job states no tokens.
[[nodiscard]] inline double run_usd(const Plan& plan) {
  return plan.usd_per_hour * plan.run.value / kHour;
}
/// USD per billion tokens.
[[nodiscard]] inline double usd_per_billion_tokens(const Plan& plan) {
  return plan.usd_per_hour / kHour / plan.report.tokens_per_second * 1e9;
}

/// Waiting of pipeline stages for each other, because the global batch has few micro-batches for each stage.
struct WaitingStages {
  double share = 0;         ///< of the step
  std::int64_t enough = 0;  ///< global batch that reduces the share to kLittleWaiting
};
inline constexpr double kMuchWaiting = 0.1, kLittleWaiting = 0.05;
/// Waiting of the plan's stages; nullopt where it takes less than kMuchWaiting of the step. Waiting takes the
/// same time with any number of micro-batches, and the rest of the step grows with that number. If stages
/// wait w of a step t with m micro-batches, they wait the share w / (w + (t - w) n / m) with n.
[[nodiscard]] std::optional<WaitingStages> waiting_stages(const Plan& plan);

/// A strategy that was refused although it could be faster than the winner.
struct Refusal {
  models::Strategy strategy;
  Violation why;
  Seconds lower_bound{};  ///< at most the time of its step; for "replica-group" that of computing alone
  std::optional<models::Memory> memory;  ///< for rule "memory"
  std::vector<int> chips;                ///< for rule "replica-group": chips of the group that breaks it
};

/// Simulates one strategy, with the interval of a network in its usual state. Throws std::invalid_argument as
/// models::StepModel does. `memory` of plans of the same cluster and degrees, or null.
Plan timed_plan(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile,
                const topology::ChipGraph& graph, models::CollectiveMemory* memory = nullptr);
/// Widens the interval of a timed_plan() by the slow state of a network that was not measured (models/uncertainty/
/// mixture.h); `job` is the plan's. Cost: a simulation where the profile has such a state, else nothing.
void add_slow_network(Plan& plan, const models::Job& job, const models::Profile& profile,
                      const topology::ChipGraph& graph, models::CollectiveMemory* memory = nullptr);
/// Both of these.
Plan make_plan(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile,
               const topology::ChipGraph& graph);

/// The job with the plan's values for what the job leaves free: cluster, batch, precision.
models::Job as_planned(models::Job job, const Plan& plan);

}  // namespace trnplan::planner
