// Comparison of the user's current config with the planner's result: the speedup, and the keys to change.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::targets {

/// One key of the NxDT YAML. `from` and `to` are spelled as in the file, "null" if a key is absent.
struct Change {
  std::string key, from, to;
  SourcePos at;  ///< of the value; only the file if the key is missing
};

struct Baseline {
  models::Strategy strategy;  ///< stated by the config, on the cluster on which it is judged
  /// The winner's cluster (the job's if there is no winner) and the config's batch.
  models::Job job;
  /// Rules of strategies and errors of the linter; empty = legal and fits.
  std::vector<planner::Violation> broken;
  std::optional<planner::Plan> plan;  ///< absent if it cannot be simulated
  std::vector<Change> changes;  ///< to the winner; only keys that a strategy sets and that change the program
  std::string no_changes;       ///< why `changes` cannot be determined, e.g. NxDT cannot express the model
  std::vector<std::string> remarks;  ///< differences between its training and the job's

  /// True if the config is accepted and fits. If it does not fit, `plan` is the prediction as if it did.
  bool runs() const;
};

/// Differences between the training of a config and that of the job, such as another model or sequence
/// length. With one of them its step time does not apply to the job. Each fault names the key and its place.
std::vector<Diagnostic> baseline_faults(const models::Job& job, const NxdtConfig& config,
                                        const models::Architecture& trained);

/// Predicts `config` on the winner's cluster, started there by train.sh, whatever its trainer.num_nodes says.
/// `winner` may be null. Requires: baseline_faults() is empty. Cost: a simulation.
Baseline baseline_of(const models::Job& job, const NxdtConfig& config, const models::Architecture& trained,
                     const models::Profile& profile, const planner::Plan* winner);

/// Ratio of tokens per second, winner over baseline; 0 without a prediction, and if the baseline cannot run.
double speedup(const planner::Plan& winner, const Baseline& baseline);

/// Keys of `config` that have to change for `strategy` of `job`. Keys that do not change the program are
/// omitted, such as CoreAttention in a list of classes together with flash attention. Throws
/// std::invalid_argument as to_nxdt() does.
std::vector<Change> changes_to(const models::Job& job, const models::Strategy& strategy,
                               const NxdtConfig& config, const models::Architecture& trained);

}  // namespace trnplan::targets
