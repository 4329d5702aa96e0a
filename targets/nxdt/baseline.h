// What one runs today beside what the planner found: how much faster, and which keys to change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::targets {

/// One key of the NxDT YAML; `from` and `to` as the file writes them, "null" where a key is absent.
struct Change {
  std::string key, from, to;
  SourcePos at;  ///< of the value; of the file alone when the key is missing
};

struct Baseline {
  models::Strategy strategy;  ///< that the config states, on the cluster it is judged on
  models::Job job;            ///< the winner's cluster (without a winner the job's), the config's batch
  std::vector<planner::Violation>
      broken;  ///< rules of strategies and errors of the linter; empty = legal and fits
  std::optional<planner::Plan> plan;  ///< absent when it cannot be simulated
  std::vector<Change> changes;  ///< to the winner; only what a strategy sets and what changes the program
  std::string no_changes;       ///< why `changes` cannot be told, e.g. that NxDT cannot express the model
  std::vector<std::string> remarks;  ///< where it trains something else than the job

  /// Nothing is broken for certain: it fits, and is accepted. Of one that does not, `plan` is what it would
  /// take if it did.
  bool runs() const;
};

/// What a config trains that is not what the job asks for, so that its step says nothing about the job's:
/// another model or sequence length. Each fault names the key and its place.
std::vector<Diagnostic> baseline_faults(const models::Job& job, const NxdtConfig& config,
                                        const models::Architecture& trained);

/// `config` predicted on the winner's cluster, as train.sh starts it there, whatever its trainer.num_nodes
/// says. `winner` may be null. Needs baseline_faults() to be empty. Cost: a simulation.
Baseline baseline_of(const models::Job& job, const NxdtConfig& config, const models::Architecture& trained,
                     const models::Profile& profile, const planner::Plan* winner);

/// How many times as many tokens a second; 0 without a prediction, and where the baseline cannot run.
double speedup(const planner::Plan& winner, const Baseline& baseline);

/// The keys of `config` that have to change for `strategy` of `job`. Keys that do not change the program stay
/// unmentioned, such as CoreAttention in a list of classes beside flash attention. Throws
/// std::invalid_argument as to_nxdt().
std::vector<Change> changes_to(const models::Job& job, const models::Strategy& strategy,
                               const NxdtConfig& config, const models::Architecture& trained);

}  // namespace trnplan::targets
