// What is known to have run, for the distance of plans from it.
#pragma once

#include <vector>

#include "io/catalog/catalog.h"
#include "planner/confidence/distance.h"
#include "planner/confidence/observations.h"

namespace trnplan::api {

/// The published runs of measured-runs.csv that fits use, the published jobs of memory-cases.csv that ran or were
/// shipped to run, and of `observations` the own runs whose memory was seen to do. With `gpus` those of known_layouts()
/// that ran, too, which tell nothing of other devices. Throws InputError.
[[nodiscard]] std::vector<planner::KnownRun> known_runs(const io::Catalog& catalog,
                                                        const std::vector<planner::Observation>& observations,
                                                        const models::Architecture& own_model,
                                                        bool gpus = false);

}  // namespace trnplan::api
