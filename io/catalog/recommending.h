// Parameters of a recommendation: catalog/recommending.json.
#pragma once

#include "planner/confidence/recommendation.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the parameters. Every parameter and the weight of every trait are required, with median, log_sd,
/// unit and source. Throws InputError with all faults.
[[nodiscard]] planner::RecommendingParameters recommending_from(const Node& node);

}  // namespace trnplan::io
