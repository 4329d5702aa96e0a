// Timed collectives as JSON (docs/json.md, collective).
#pragma once

#include <string>
#include <vector>

#include "models/collective/collective_timing.h"

namespace trnplan::io {

/// Both return a document that ends in a newline.
std::string collective_json(const topology::Cluster& cluster, const models::Profile& profile,
                            const models::TimedCollective& timed);
/// The same for many sizes of one operation on the same ranks. Requires: at least one.
std::string collective_sweep_json(const topology::Cluster& cluster, const models::Profile& profile,
                                  const std::vector<models::TimedCollective>& all);

}  // namespace trnplan::io
