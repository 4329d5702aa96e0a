// One strategy, judged and simulated.
#pragma once

#include <optional>
#include <vector>

#include "models/job/job.h"
#include "models/memory/memory.h"
#include "models/parameters/profile.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"

namespace trnplan::planner {

struct Judgement {
  /// Broken rules about numbers, replica groups and memory, and parts that are not modelled; with fixes.
  std::vector<Violation> broken;
  std::optional<models::Memory> memory;  ///< absent if the program has no shape
  std::optional<Plan> plan;              ///< absent if a simulation makes no sense

  /// True if a rule is broken for certain (a doubt does not count).
  bool refused() const;
};

/// Applies every rule to a strategy and simulates it if its shape allows, even if it does not fit or the
/// runtime would refuse its groups. The target's rules count if there is one.
Judgement judge(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile,
                const Target* target = nullptr);

/// The reason for no plan: the rules that leave the program without a shape, or what is not modelled. "" if
/// there is a plan.
std::string why_no_plan(const Judgement& judgement);

/// "stage 0 needs 17.6 of 16.0 GiB a core (loss): parameters 1.87, ...".
std::string memory_message(const models::Memory& memory, topology::Accelerator on);

}  // namespace trnplan::planner
