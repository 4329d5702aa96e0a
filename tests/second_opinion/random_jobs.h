// Random jobs and strategies for the second opinion: every machine whose steps are timed, every model, framework, schedule
// and sharding; strategies that are legal or broken.
#pragma once

#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "planner/plan/target.h"

namespace trnplan {

struct RandomJob {
  models::Job job;
  models::Profile profile;                  ///< of the machine's family
  const planner::Target* target = nullptr;  ///< null: rules of none
};

/// A job on one or two nodes, of few layers and micro-batches, some of it pinned. Machines follow each other by seed, so
/// that as many seeds as there are machines meet them all.
RandomJob random_job(unsigned seed);

/// Machines of the catalogue whose steps are timed.
const std::vector<topology::Instance>& timed_machines();

/// `count` strategies for `job`: of its own space, with up to two changes that may break a rule. No degree is below 1.
std::vector<models::Strategy> random_strategies(const models::Job& job, unsigned seed, int count);

}  // namespace trnplan
