// Random jobs and strategies for the second opinion: every machine with timed steps, every model, framework,
// schedule and sharding; legal and broken strategies.
#pragma once

#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/target.h"

namespace trnplan {

struct RandomJob {
  models::Job job;
  models::Profile profile;                  ///< of the machine's family
  const planner::Target* target = nullptr;  ///< null = no target's rules
};

/// A job on one or two nodes, with few layers and micro-batches, and some pins. The machine follows from the
/// seed, so that as many seeds as machines cover them all.
RandomJob random_job(unsigned seed);

/// Machines of the catalogue with timed steps.
const std::vector<topology::Instance>& timed_machines();

/// `count` strategies for `job`: from its own space, with up to two changes that may break a rule. No degree
/// is below 1.
std::vector<models::Strategy> random_strategies(const models::Job& job, unsigned seed, int count);

}  // namespace trnplan
