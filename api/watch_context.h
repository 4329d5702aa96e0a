// What a watched run is compared with.
#pragma once

#include <string>

#include "api/inputs.h"
#include "io/catalog/catalog.h"
#include "launch/watch/watch.h"
#include "models/parameters/profile.h"
#include "text/remarks.h"

namespace trnplan::api {

/// The options that say what ran.
struct WatchedRun {
  std::string plan;                         ///< plan.json of a folder that was launched
  std::string job, strategy;                ///< as simulate takes them
  std::string config;                       ///< an NxDT YAML
  std::string instance = usual_instance();  ///< that --config ran on
};

/// Remarks on why there is no prediction, or what it rests on. A prediction where the options name a strategy: that of plan.json, or one simulated with `profile`. Throws
/// InputError for faults of the options and of the files they name. Cost: at most one simulation.
[[nodiscard]] launch::WatchContext watched_context(const WatchedRun& options, const std::string& profile,
                                                   const io::Catalog& catalog, Remarks& remarks);

/// Finds plans of a job as `plan` does, with the observations of `profile` (a file, or a name).
[[nodiscard]] launch::FindPlans plan_finder(const std::string& profile);

}  // namespace trnplan::api
