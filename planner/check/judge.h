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
  std::vector<Violation>
      broken;  ///< rules about numbers, replica groups, memory, what is not modelled; with fixes
  std::optional<models::Memory> memory;  ///< absent when the program has no shape
  std::optional<Plan> plan;              ///< absent where a simulation makes no sense

  /// True when a rule is broken for certain (a doubt does not count).
  bool refused() const;
};

/// Applies every rule to a strategy and simulates it when its shape allows: also when it does not fit, or
/// when the runtime would refuse its groups. Rules of the target count where there is one.
Judgement judge(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile,
                const Target* target = nullptr);

/// Why there is no plan: the rules that leave the program without a shape, or what is not modelled. "" where
/// there is one.
std::string why_no_plan(const Judgement& judgement);

/// "stage 0 needs 17.6 of 16.0 GiB a core (loss): parameters 1.87, ...".
std::string memory_message(const models::Memory& memory, topology::Accelerator on);

}  // namespace trnplan::planner
