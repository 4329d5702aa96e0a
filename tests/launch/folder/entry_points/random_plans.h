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

/// Plans that the target trains and no rule forbids; fewer than `count` where they are rare.
/// On `machine`, where that is not null.
std::vector<Case> legal_plans(const planner::Target& target, int count, std::uint64_t seed = 20260821,
                              const topology::Instance* machine = nullptr);

/// The node_run.sh of such a plan.
std::string node_run_of(const planner::Target& target, const Case& c);

/// Plans that a test tries of a target.
inline constexpr int kPlans = 300;

/// A line each.
inline std::string listed(const std::vector<std::string>& faults) {
  std::string text;
  for (const std::string& f : faults) text += f + "\n";
  return text;
}

}  // namespace trnplan
