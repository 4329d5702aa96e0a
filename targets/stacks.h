// Stacks of software that may train a job on a machine. This is the only place that chooses: the reader of
// pins asks here, and every command does so through api/stacks.h.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "planner/plan/target.h"

namespace trnplan::targets {

/// Stack on one machine: the training loop that it runs, and the target that writes its config.
struct Stack {
  const planner::Target* target = nullptr;  ///< null = nothing writes this loop for the machine
  std::string_view loop;                    ///< as in Strategy::framework
  bool stated = false;                      ///< by the job or by --target; else the catalogue's choice
};

/// Statements of a job and a command line about the stack.
struct StackChoice {
  const planner::Target* target = nullptr;  ///< --target; null: not given
  bool loop_pinned = false;                 ///< pin.framework
  bool precision_stated = false;            ///< training.precision
};

/// Stacks to search on the machine of `job`, at least one: --target's; that of software.framework if its
/// target trains there; the one that runs the pinned loop; else those of `searched` (the catalogue's
/// searched_stacks) that train there, for an encoder those of encoders and, if there is none, the others.
[[nodiscard]] std::vector<Stack> stacks_on(const std::vector<std::string>& searched, const models::Job& job,
                                           const StackChoice& choice);

}  // namespace trnplan::targets
