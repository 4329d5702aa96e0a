// Checkpoints that a plan's run saves, and how many fit on the file system that its folder describes.
#pragma once

#include <cstdint>
#include <string>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

/// Checkpoints that the file system has to hold in addition to the one being written: as the job states them,
/// else as the target keeps them. Requires: the target expresses the strategy.
std::int64_t checkpoints_with_room(const models::Job& job, const models::Strategy& strategy,
                                   const planner::Target& target);

/// Note on a run whose job asks for all checkpoints: how many there are at its end, how much space they take,
/// and what holds them. "" for other runs, and if the length of the run is unknown. Requires: as
/// above.
std::string checkpoint_note(const models::Job& job, const models::Strategy& strategy,
                            const planner::Target& target);

}  // namespace trnplan::launch
