// The document of compare (docs/json.md).
#pragma once

#include <string>

#include "planner/confidence/plan_comparison.h"

namespace trnplan::io {

/// Returns a document that ends in a newline.
std::string compare_json(const planner::PlanComparison& comparison);

}  // namespace trnplan::io
