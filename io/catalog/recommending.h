// The file of what a recommendation weighs: catalog/recommending.json.
#pragma once

#include "planner/confidence/recommendation.h"
#include "text/document.h"

namespace trnplan::io {

/// Every parameter and the weight of every trait must be there with median, log_sd, unit and source. Throws InputError
/// with all faults.
[[nodiscard]] planner::RecommendingParameters recommending_from(const Node& node);

}  // namespace trnplan::io
