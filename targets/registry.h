// Every target there is: the one place that lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/plan/target.h"

namespace trnplan::targets {

/// The first is what `plan --out` writes for where nothing is said.
[[nodiscard]] const std::vector<const planner::Target*>& all();
[[nodiscard]] const planner::Target& standard();

/// That of a job's software; the standard one where the job names none, or a stack that no target is for.
[[nodiscard]] const planner::Target& of(const models::Software& software);

/// nullptr where there is none of that name.
[[nodiscard]] const planner::Target* find(std::string_view name);

/// What the job leaves open, as the target does it: its precision where that is not stated, no ZeRO-1 where it has
/// none, dropout.
void take_defaults(models::Job& job, const planner::Target& target, bool precision_stated);

/// In the order of all().
[[nodiscard]] std::vector<std::string> names();

}  // namespace trnplan::targets
