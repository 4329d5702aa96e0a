// Where a rule of what is to train the plan is why there is none: which rule, and where it does not hold.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/plan.h"
#include "planner/plan/plan.h"

namespace trnplan::api {

/// Another target without that rule.
struct OtherTarget {
  std::string name;
  bool writes = false;  ///< something that trains the model; else there is a plan alone
};

struct TargetRefusal {
  std::string target;               ///< whose rule it is
  planner::Violation why;           ///< of one of the strategies that it refuses
  int strategies = 0;               ///< that break it first
  std::vector<OtherTarget> others;  ///< each has a plan; at least one
};

/// None where there is a plan, where deadline or budget refuse those that there are, or where no other target has one
/// either. Cost: of each other target what planner::feasible() takes.
[[nodiscard]] std::optional<TargetRefusal> target_refusal(const PlanRequest& request,
                                                          const PlanResult& result);

}  // namespace trnplan::api
