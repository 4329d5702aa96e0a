// Explains a search without plans that is due to a rule of the target: the rule, and the targets without it.
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
  bool writes = false;  ///< it can also write what trains the model
};

struct TargetRefusal {
  std::string target;               ///< that has the rule
  planner::Violation why;           ///< of one of the refused strategies
  int strategies = 0;               ///< number that break it first
  std::vector<OtherTarget> others;  ///< each has a plan; at least one
};

/// nullopt if there is a plan, if deadline or budget refuse the existing plans, or if no other target has a
/// plan either. Cost: planner::feasible() for each other target.
[[nodiscard]] std::optional<TargetRefusal> target_refusal(const PlanRequest& request,
                                                          const PlanResult& result);

}  // namespace trnplan::api
