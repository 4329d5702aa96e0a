// Runs known to work, from which the distance of plans is measured.
#pragma once

#include <vector>

#include "io/catalog/catalog.h"
#include "planner/confidence/distance.h"
#include "planner/confidence/observations.h"

namespace trnplan::api {

/// Published runs of measured-runs.csv that fits use, published jobs of memory-cases.csv that ran or were
/// shipped to run, and those of the user's own `observations` that had enough memory. With `gpus` also those
/// of recorded_layouts() that ran, which are not used for other devices. Throws InputError.
[[nodiscard]] std::vector<planner::RecordedRun> recorded_runs(
    const io::Catalog& catalog, const std::vector<planner::Observation>& observations,
    const models::Architecture& own_model, bool gpus = false);

}  // namespace trnplan::api
