// Check of a job's settings of learning and checkpoints against a target.
#pragma once

#include "io/input/readers.h"
#include "planner/plan/target.h"

namespace trnplan::api {

/// Throws InputError, with the place of each key, if the target can express no plan with that key but could
/// without it. Cost: the search space of the job, if it states any such key.
void refuse_learning_keys(const io::JobReading& reading, const planner::Target& target);

}  // namespace trnplan::api
