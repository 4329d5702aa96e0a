// Sorting of the strategies that an enumeration finds.
#pragma once

#include <vector>

#include "models/job/strategy.h"

namespace trnplan::planner {

/// Sorted strategies without duplicates. An enumeration finds the strategies of the same degrees in a few
/// runs, so the runs are sorted first, then the strategies of runs of the same degrees. Cost: O(n log n),
/// where n is the largest number of strategies of the same degrees.
[[nodiscard]] std::vector<models::Strategy> sorted_once(std::vector<models::Strategy> found);

}  // namespace trnplan::planner
