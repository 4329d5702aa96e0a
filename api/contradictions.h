// Refuses jobs that no choice can make legal.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/input/readers.h"
#include "planner/plan/target.h"

namespace trnplan::api {

/// Every cluster the job may use.
[[nodiscard]] std::vector<models::Job> clusters_of(const models::Job& job);

/// A job on one of its allowed clusters, with one of its allowed training loops.
struct JobChoice {
  models::Job job;
  const planner::Target* target = nullptr;  ///< its rules apply; may be null
};

/// Throws InputError for a job that no choice can make legal, with every fault of the first choice, at the
/// key to change: such a job is wrong input, not a search without result. `job`: the argument given by the
/// user.
void refuse_contradictions(const std::string& job, const io::JobReading& reading,
                           const std::vector<JobChoice>& choices);
/// The same over every cluster that the job may use.
void refuse_contradictions(const std::string& job, const io::JobReading& reading,
                           const planner::Target& target);

/// The key, or the option that stated it. `file`: of the value's place.
[[nodiscard]] std::string stated_as(const std::string& key, const std::string& file);

/// Throws InputError if the target trains on no machine of the job's kind. `named`: by --target, else by the
/// job's software.
void refuse_other_machines(const std::string& job, const io::JobReading& reading,
                           const planner::Target& target, bool named);

/// Throws InputError if the pinned training loop does not train on one of the types.
void refuse_other_loop(const std::string& job, const io::JobReading& reading,
                       const std::vector<topology::Instance>& types);

/// Throws InputError if the job's types have several profiles, named by `profile_of`: a search compares times
/// of a single profile.
void refuse_mixed_machines(const std::string& job, const io::JobReading& reading,
                           const std::function<std::string(const topology::Instance&)>& profile_of);

}  // namespace trnplan::api
