// Jobs that no choice can make legal.
#pragma once

#include <string>
#include <vector>

#include "io/input/readers.h"
#include "planner/plan/target.h"

namespace trnplan::api {

/// Every cluster the job may use.
[[nodiscard]] std::vector<models::Job> clusters_of(const models::Job& job);

/// A job that no choice can make legal on any of its clusters is wrong input, not a search without result: throws
/// InputError with every fault, at the key that is to be changed. `job`: what the user named.
void refuse_contradictions(const std::string& job, const io::JobReading& reading,
                           const planner::Target& target);

}  // namespace trnplan::api
