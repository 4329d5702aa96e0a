// Strategies as an enumeration finds them, put in order.
#pragma once

#include <vector>

#include "models/job/strategy.h"

namespace trnplan::planner {

/// Sorted, each once. Those of the same degrees are found in a few runs: the runs are sorted, and then what is in
/// those of the same degrees. Cost: O(n log n), where n is the most of the same degrees.
[[nodiscard]] std::vector<models::Strategy> sorted_once(std::vector<models::Strategy> found);

}  // namespace trnplan::planner
