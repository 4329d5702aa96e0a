// Random plans that a target trains, the same on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "planner/plan/target.h"

namespace trnplan {

struct Case {
  models::Job job;
  models::Strategy strategy;
};

/// Plans that the target trains and no rule forbids; fewer than `count` if they are rare. On `machine`,
/// unless it is null.
std::vector<Case> legal_plans(const planner::Target& target, int count, std::uint64_t seed = 20260821,
                              const topology::Instance* machine = nullptr);

/// node_run.sh of such a plan.
std::string node_run_of(const planner::Target& target, const Case& c);

/// Number of plans that a test tries per target.
inline constexpr int kPlans = 300;

/// One line each.
inline std::string listed(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& f : faults) text += f + "\n";
  return text;
}

}  // namespace trnplan
