// Jobs that no choice can make legal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/input/readers.h"
#include "planner/plan/target.h"

namespace trnplan::api {

/// Every cluster the job may use.
[[nodiscard]] std::vector<models::Job> clusters_of(const models::Job& job);

/// A job on one of the clusters, and with one of the training loops, that it may use.
struct JobChoice {
  models::Job job;
  const planner::Target* target = nullptr;  ///< whose rules hold; may be null
};

/// A job that no choice can make legal is wrong input, not a search without result: throws
/// InputError with every fault of the first choice, at the key that is to be changed. `job`: what the user named.
void refuse_contradictions(const std::string& job, const io::JobReading& reading,
                           const std::vector<JobChoice>& choices);
/// Of every cluster the job may use.
void refuse_contradictions(const std::string& job, const io::JobReading& reading,
                           const planner::Target& target);

/// Throws InputError where the target trains on no machine of the job's kind. `named`: by --target, else by the job's software.
void refuse_other_machines(const std::string& job, const io::JobReading& reading,
                           const planner::Target& target, bool named);

/// One search compares times of one profile: throws InputError where the job's types have several, by `profile_of`, its name.
void refuse_mixed_machines(const std::string& job, const io::JobReading& reading,
                           const std::function<std::string(const topology::Instance&)>& profile_of);

}  // namespace trnplan::api
