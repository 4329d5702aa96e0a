// What a watched run is compared with.
#pragma once

#include <string>
#include <vector>

#include "io/catalog/catalog.h"
#include "launch/watch/watch.h"
#include "models/parameters/profile.h"

namespace trnplan::cli {

/// The options that say what ran.
struct WatchedRun {
  std::string plan;              ///< plan.json of a folder that was launched
  std::string job, strategy;     ///< as simulate takes them
  std::string config, instance;  ///< an NxDT YAML, and the nodes it ran on
};

struct WatchedContext {
  launch::WatchContext context;
  std::vector<std::string> remarks;  ///< why there is no prediction, or what it rests on
};

/// A prediction where the options name a strategy: that of plan.json, or one simulated with `profile`. Throws
/// InputError for faults of the options and of the files they name. Cost: at most one simulation.
WatchedContext watched_context(const WatchedRun& options, const models::Profile& profile,
                               const io::Catalog& catalog);

}  // namespace trnplan::cli
