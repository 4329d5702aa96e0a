// The median.
#pragma once

#include <vector>

namespace trnplan {

/// Of an even number of values the mean of the two in the middle. Requires: at least one value, none of them NaN.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace trnplan
