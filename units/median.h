// The median.
#pragma once

#include <vector>

namespace trnplan {

/// The median; of an even number of values, the mean of the two in the middle. Requires: at least one value,
/// and no value is NaN.
[[nodiscard]] double median(std::vector<double> values);

}  // namespace trnplan
