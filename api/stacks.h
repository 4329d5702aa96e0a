// Stacks of software that may train a job on a machine (targets/stacks.h), and the job as each of them trains
// it.
#pragma once

#include <string_view>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "targets/stacks.h"

namespace trnplan::api {

using targets::Stack;
using targets::StackChoice;
using targets::stacks_on;

/// The job as the stack trains it: with its loop, and with its software and defaults where the job states
/// none. A release that the profile has learnt is that of a job without one.
[[nodiscard]] models::Job on_stack(models::Job job, const Stack& stack, const StackChoice& choice,
                                   const models::Profile& profile);

/// Name of the stack: "nxdt", or the name of a loop that no target writes.
[[nodiscard]] std::string_view name_of(const Stack& stack);

}  // namespace trnplan::api
