// Nearest legal configs that fit, for a config that is refused or does not fit.
#pragma once

#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "targets/nxdt/baseline.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::targets {

/// Legal config that fits, described by its changes.
struct NearConfig {
  std::vector<Change> changes;  ///< at least one; `to` as the YAML writes it
  planner::Plan plan;
  double fit_probability = 0;
  /// Warnings of the linter that are new, such as weights that lose precision: "key: message".
  std::vector<std::string> warnings;
  bool recommended = false;  ///< recommended by `plan`, not chosen for few changed keys
};

struct NearOptions {
  int most = 3;
  double fit_probability = 0.9;  ///< least probability of each, as in SearchOptions
  int threads = 0;               ///< 0 = one per core of the machine
};

/// Finds configs of the same cluster, batch, sequence and precision that keep the rules and fit. Configs
/// without a new warning come first, then those with the fewest changed keys, then the faster ones. For each
/// number of changed keys the fastest is taken; one with more changed keys only if it is faster than all
/// before it, up to `most`. If that gives fewer, slower ones follow, fewest keys first. The search varies TP,
/// PP, VPP, ZeRO-1, sequence parallel, micro-batch, recompute and cuts. `current`: the strategy that `config`
/// states, on the job's cluster. A key never changes if the program stays the same. Deterministic. Cost: the
/// candidates of the cluster, then about a dozen simulations.
std::vector<NearConfig> nearest_that_fit(const models::Job& job, const models::Strategy& current,
                                         const NxdtConfig& config, const models::Architecture& trained,
                                         const models::Profile& profile, const NearOptions& options = {});

/// The config after these changes.
NxdtConfig with_changes(NxdtConfig config, const std::vector<Change>& changes);

}  // namespace trnplan::targets
