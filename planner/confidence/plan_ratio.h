// Ratio of the costs of two plans, in time or money, and how sure its sign is.
#pragma once

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "models/uncertainty/compare.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// A plan with its own job, as_planned(), and the profile that times it. Refers to them.
struct RatedPlan {
  const models::Job& job;
  const Plan& plan;
  const models::Profile& profile;
};

/// True if both run on one type of machine by one training loop: what is uncertain of these counts for neither.
[[nodiscard]] bool share_stack(const RatedPlan& a, const RatedPlan& b);

/// log(cost of b / cost of a), where a second of b costs `scale` times as much as one of a. Plans that share machine
/// and loop are compared as models::log_ratio() does, with the further doubt of the one that is less tested. Of one
/// loop on two machines with one set of parameters, what is uncertain of these counts by the difference of the two
/// gradients, and each layout has its own error. Others are two independent log-normal times, the cautious end, each
/// with the sd of its own 90 % interval; on one type of machine both find the network in one state.
/// Cost: O(operators log operators + parameters^2).
[[nodiscard]] models::LogRatio plan_ratio(const RatedPlan& a, const RatedPlan& b, double scale);

/// Variance that a step has more than another by being less tested, or if negative less; the log-sd of each by that.
[[nodiscard]] double less_tested(double log_sd, double of_other);

/// Widens a ratio by the doubt of the step that is less tested, less that of the other; the log-sd of each by that. A
/// plan that is less tested may have less work, and still not be faster.
void count_less_tested(models::LogRatio& ratio, double of_first, double of_second);

}  // namespace trnplan::planner
