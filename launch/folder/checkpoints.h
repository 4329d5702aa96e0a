// What a plan's run saves, and how much of it has room on the file system that its folder describes.
#pragma once

#include <cstdint>
#include <string>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/target.h"

namespace trnplan::launch {

/// Of a run whose target removes no checkpoint and whose job does not ask for all of them, so many have room. Ours: a file
/// system for thousands is nothing that anybody would make without being asked.
inline constexpr std::int64_t kCheckpointsWithRoom = 20;

/// Checkpoints that the file system has to hold beside the one being written: as the job states them, else as the target
/// keeps them. Requires: the target expresses the strategy.
std::int64_t checkpoints_with_room(const models::Job& job, const models::Strategy& strategy,
                                   const planner::Target& target);

/// Of a run that removes no checkpoint: how many there are at its end, what they take, and when the file system is full.
/// "" for other runs, and where nobody says how long the run is. Requires: as above.
std::string checkpoint_note(const models::Job& job, const models::Strategy& strategy,
                            const planner::Target& target);

}  // namespace trnplan::launch
