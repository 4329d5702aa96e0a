// What to change in a config that is refused or does not fit: the nearest ones that do.
#pragma once

#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "targets/nxdt/baseline.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::targets {

/// A config that is legal and fits, by what it changes.
struct NearConfig {
  std::vector<Change> changes;  ///< at least one; `to` as the YAML writes it
  planner::Plan plan;
  double fit_probability = 0;
  /// What the linter warns of that it did not before, such as weights that lose precision: "key: message".
  std::vector<std::string> warnings;
  bool recommended = false;  ///< as `plan` recommends it, not by how few keys it changes
};

struct NearOptions {
  int most = 3;
  double fit_probability = 0.9;  ///< of each, at least: as SearchOptions
  int threads = 0;               ///< 0: as many as the machine has cores
};

/// Configs of the same cluster, batch, sequence and precision that keep the rules and fit, those without a
/// new warning first, then fewest changed keys, then the faster. Of those with as many keys the fastest comes in; one with more keys only when
/// it is faster than all before, until there are `most`; when there are fewer, slower ones fill up, fewest
/// keys first. Free are TP, PP, VPP, ZeRO-1, sequence parallel, micro-batch, recompute and cuts. `current`:
/// the strategy that `config` states, on job's cluster. Keys are never changed where the program stays the
/// same. Deterministic. Cost: Candidates of the cluster, then some dozen simulations.
std::vector<NearConfig> nearest_that_fit(const models::Job& job, const models::Strategy& current,
                                         const NxdtConfig& config, const models::Architecture& trained,
                                         const models::Profile& profile, const NearOptions& options = {});

/// The config with these values.
NxdtConfig with_changes(NxdtConfig config, const std::vector<Change>& changes);

}  // namespace trnplan::targets
