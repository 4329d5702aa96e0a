// A plan: a strategy with its prediction, and why other strategies were turned down.
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

namespace trnplan::planner {

/// What published jobs of which is known whether they ran say of a plan.
struct Experience {
  std::string id, source;  ///< of the nearest one
  std::string words;       ///< "llama3-8b on 1 x TP 32 x PP 1, sequence 8192, micro-batch 1"
  std::string known;       ///< "ran", "ran out of memory", "kept a limit of 2.58 GiB"
  std::vector<std::string>
      differences;               ///< "TP 8 against 32": what the plan has against it; the largest first
  double distance = 0;           ///< of the plan from it: docs/models.md, "Nearest known case"
  std::string largest_graph_id;  ///< the one of the largest graph that is known to compile
  double largest_graph = 0;      ///< its instructions, counted as those of the plan; 0: none is known
};

/// A rule a strategy breaks. `rule` is an id of api/rules.
struct Violation {
  std::string rule;
  std::string message;
  std::string fix;
  bool doubtful = false;  ///< only doubtful: the runtime may or may not accept it
};

/// A strategy that was simulated. Fits in memory; legality is the search's promise, check with
/// rule_violations().
struct Plan {
  models::Strategy strategy;
  int nodes = 1;
  std::string instance;
  topology::Accelerator accelerator = topology::Accelerator::neuron_core;  ///< of the instance
  int micro_batches = 0;
  int global_batch = 0;  ///< sequences per step
  models::StepReport report;
  models::Memory memory;
  models::GraphSize graph;          ///< the largest that it compiles
  std::optional<Experience> known;  ///< absent where published cases were not asked
  double usd_per_hour = 0;          ///< all nodes, on-demand price, else the first that is known
  std::string price_kind;           ///< of it, as Price::kind; "" without one
  Seconds run{};  ///< the job's tokens at this speed, without failures or checkpoints; zero when not stated
  std::optional<double> works;  ///< P(it fits, compiles and runs) by what is known to run; absent: not asked
  std::optional<double> fits, compiles;  ///< of these the first two
  std::vector<Violation> doubts;         ///< replica groups the runtime may refuse, when the user let them in
};

/// USD for the run at `plan.usd_per_hour`; zero when the job states no tokens.
[[nodiscard]] inline double run_usd(const Plan& plan) {
  return plan.usd_per_hour * plan.run.value / kHour;
}
/// USD per 10^9 tokens.
[[nodiscard]] inline double usd_per_billion_tokens(const Plan& plan) {
  return plan.usd_per_hour / kHour / plan.report.tokens_per_second * 1e9;
}

/// Stages that wait for each other because the global batch has few micro-batches for each of them.
struct WaitingStages {
  double share = 0;         ///< of the step
  std::int64_t enough = 0;  ///< global batch with which it is kLittleWaiting
};
inline constexpr double kMuchWaiting = 0.1, kLittleWaiting = 0.05;
/// nullopt where less than kMuchWaiting of the step is spent so. Waiting takes as long whatever the number of micro-batches,
/// and the rest of the step grows with it: w of a step t with m of them is w / (w + (t - w) n / m) with n.
[[nodiscard]] std::optional<WaitingStages> waiting_stages(const Plan& plan);

/// A strategy that was turned down although it could be faster than the winner.
struct Refusal {
  models::Strategy strategy;
  Violation why;
  Seconds lower_bound{};  ///< never above what it would take; for "replica-group" computing alone
  std::optional<models::Memory> memory;  ///< for rule "memory"
  std::vector<int> chips;                ///< for rule "replica-group": the offending group's chips
};

/// Simulates one strategy. Throws std::invalid_argument as models::StepModel does.
Plan make_plan(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile,
               const topology::ChipGraph& graph);

/// The job as a plan of it settles what it leaves free: cluster, batch, precision.
models::Job settled(models::Job job, const Plan& plan);

}  // namespace trnplan::planner
