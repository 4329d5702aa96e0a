// Timed collectives as JSON (docs/json.md, collective).
#pragma once

#include <string>
#include <vector>

#include "models/collective/collective_timing.h"

namespace trnplan::io {

/// A collective and its time.
struct TimedCollective {
  models::CollectiveRun run;
  models::CollectiveTiming timing;
};

/// Both return a document that ends in a newline.
std::string collective_json(const topology::Cluster& cluster, const models::Profile& profile,
                            const TimedCollective& timed);
/// The same for many sizes of one operation on the same ranks. Needs at least one.
std::string collective_sweep_json(const topology::Cluster& cluster, const models::Profile& profile,
                                  const std::vector<TimedCollective>& all);

}  // namespace trnplan::io
