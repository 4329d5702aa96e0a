// Refused strategies in the answer of `plan`: those that nearly work.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/text/plan_answer.h"

namespace trnplan::cli {

/// Refusals closest to common first attempts: plain strategies that nearly work; one per layout and rule, at
/// most `of_one_rule` per rule.
std::vector<const planner::Refusal*> nearest_refusals(const std::vector<planner::Refusal>& list,
                                                      std::size_t most, int of_one_rule);
/// True for a memory refusal that no setting of the layout would fix.
bool is_far(const planner::Refusal& r);

/// Lines "Ruled out" and "Doubtful"; "" if nothing was refused. Requires: a recommended plan.
[[nodiscard]] std::string refused_text(const Answer& a);

}  // namespace trnplan::cli
