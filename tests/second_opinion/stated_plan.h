// Statements of a plan about itself, for tests/second_opinion/check_plan.h, which does not know the type
// Plan.
#pragma once

#include "planner/plan/plan.h"
#include "tests/second_opinion/check_plan.h"

namespace trnplan::second_opinion {

StatedPlan stated_plan(const planner::Plan& plan);

}  // namespace trnplan::second_opinion
