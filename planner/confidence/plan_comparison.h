// Two plans of one job against each other: what differs, how sure it is which is faster, and where the seconds
// go.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "models/uncertainty/compare.h"
#include "planner/plan/plan.h"

namespace trnplan::planner {

/// A plan with what was predicted for it.
struct ComparedPlan {
  std::string name;  ///< as it was asked for
  models::Job job;
  Plan plan;
  std::vector<Violation> broken;  ///< rules
};

/// A key in which the plans differ.
struct KeyDifference {
  std::string key;  ///< of a strategy, or "nodes", "instance", "global_batch", "sequence"
  std::array<std::string, 2> values;
};

/// Seconds on the critical path for the tokens of a step of the first plan.
struct PartSeconds {
  std::string part;
  std::array<Seconds, 2> seconds;
};

struct PlanComparison {
  std::array<ComparedPlan, 2> plans;
  std::vector<KeyDifference> differs;
  double step_scale = 1;  ///< tokens of a step of the first plan over those of the second
  /// log(time of the second / time of the first) for the same tokens.
  models::LogRatio ratio;
  /// Both run on one machine by one stack: what is uncertain of these counts for neither.
  bool shared = false;
  std::vector<PartSeconds> by_cause;     ///< models::Category, those above zero
  std::vector<PartSeconds> by_operator;  ///< the largest difference first
};

/// Compares two plans for the same tokens, how sure by plan_ratio().
[[nodiscard]] PlanComparison compare_plans(std::array<ComparedPlan, 2> plans,
                                           const std::array<const models::Profile*, 2>& profiles);

/// The 90 % interval of exp(ratio), and its median in the middle.
[[nodiscard]] std::array<double, 3> times_as_long(const models::LogRatio& ratio);

}  // namespace trnplan::planner
