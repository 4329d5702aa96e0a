// Answer of `plan` without a plan: what refused all strategies, which come closest, and what would help.
#pragma once

#include <string>

#include "cli/text/plan_answer.h"

namespace trnplan::cli {

/// True if none of the types that the job may use has a timed step.
[[nodiscard]] bool is_untimed(const models::Job& job);

/// Text in whole lines, not yet wrapped.
[[nodiscard]] std::string no_plan_text(const Answer& a, const planner::Infeasible& why);

}  // namespace trnplan::cli
