// What a job states of learning and keeping, against a target.
#pragma once

#include "io/input/readers.h"
#include "planner/plan/target.h"

namespace trnplan::api {

/// Throws InputError, with the place of each key, where the target can express no plan that does what the key states
/// and could without it. Cost: the space of the job, where it states anything.
void refuse_unlearnable(const io::JobReading& reading, const planner::Target& target);

}  // namespace trnplan::api
