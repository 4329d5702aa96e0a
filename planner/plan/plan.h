// A plan: a strategy with its prediction, and why other strategies were turned down.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/memory/memory.h"
#include "models/step/step.h"
#include "topology/verdict.h"

namespace trnplan::planner {

/// A rule a strategy breaks. `rule` is one word of docs/rules.md.
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
  int micro_batches = 0;
  int global_batch = 0;  ///< sequences per step
  models::StepReport report;
  models::Memory memory;
  double usd_per_hour = 0;  ///< all nodes, on-demand price
  Seconds run{};  ///< the job's tokens at this speed, without failures or checkpoints; zero when not stated
  std::vector<Violation> doubts;  ///< replica groups the runtime may refuse, when the user let them in
};

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
