// What a plan says of itself, for planner/check/check_plan.h, which does not know plans.
#pragma once

#include "planner/check/check_plan.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

StatedPlan stated_plan(const Plan& plan);

}  // namespace trnplan::planner
