// Machine and framework of a watched run, for words that fit them.
#pragma once

#include <string_view>

#include "launch/watch/ran_plan.h"
#include "planner/plan/target.h"
#include "topology/traits.h"

namespace trnplan::launch {

/// Programs that show what a machine does. The referenced texts are static.
struct MachineWords {
  std::string_view monitor;  ///< use of the devices of a node
  std::string_view idle;     ///< how a rank is seen to do nothing
  std::string_view fabric;   ///< that times collectives
};

/// Known facts about a run's machine and framework.
struct RunSetting {
  const topology::Traits* machine = nullptr;  ///< nullptr: unknown
  const planner::Target* target = nullptr;    ///< likewise

  [[nodiscard]] const MachineWords& words() const;
  [[nodiscard]] planner::TargetAdvice advice() const;
};

/// Refers to `ran`. What is only assumed is not known.
[[nodiscard]] RunSetting setting_of(const RanPlan& ran);

}  // namespace trnplan::launch
