// Two plans of one job against each other, as text.
#pragma once

#include <string>

#include "planner/confidence/plan_comparison.h"

namespace trnplan::cli {

/// Verdict, both plans row by row, and where their seconds differ.
std::string compare_text(const planner::PlanComparison& comparison, int width);
/// The same as Markdown, for a pull request.
std::string compare_markdown(const planner::PlanComparison& comparison);

}  // namespace trnplan::cli
