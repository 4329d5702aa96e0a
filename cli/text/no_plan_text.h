// The answer of `plan` where there is no plan: what refused all, what comes closest, what would help.
#pragma once

#include <string>

#include "cli/text/plan_answer.h"

namespace trnplan::cli {

/// None of the types that the job may use has a step that is timed.
[[nodiscard]] bool is_untimed(const models::Job& job);

/// Whole lines; not yet wrapped.
[[nodiscard]] std::string no_plan_text(const Answer& a, const planner::Infeasible& why);

}  // namespace trnplan::cli
