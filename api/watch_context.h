// References with which a watched run is compared.
#pragma once

#include <string>

#include "api/what_ran.h"
#include "io/catalog/catalog.h"
#include "launch/watch/watch.h"
#include "models/parameters/profile.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Options that state the plan that ran. Its instance is also that of a run of which nothing else is stated.
struct WatchedRun : StatedRun {
  std::string plan;  ///< plan.json of a launched folder
};

/// Prediction of the strategy that the options state: that of plan.json, or a simulation with `profile`. Adds
/// remarks on its assumptions, or on why there is none. Throws InputError for faults of the options and of
/// the files that they name. Cost: at most one simulation.
[[nodiscard]] launch::WatchContext watched_context(const WatchedRun& options, const std::string& profile,
                                                   const io::Catalog& catalog, Remarks& remarks);

/// Finds plans of a job as `plan` does, with the observations of `profile` (a file, or a name).
[[nodiscard]] launch::FindPlans plan_finder(const std::string& profile);

}  // namespace trnplan::api
