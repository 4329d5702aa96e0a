// The median and other percentiles.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace trnplan {

/// The median; of an even number of values, the mean of the two in the middle. Requires: at least one value,
/// and no value is NaN.
[[nodiscard]] double median(std::vector<double> values);

/// A median absolute deviation times this is the standard deviation of a normal distribution: 1 / its quantile at
/// 3/4.
inline constexpr double kDeviationToSigma = 1.4826;

/// Value below which a share of `sorted` lies, by nearest rank. Requires: ascending, not empty.
template <class Value>
[[nodiscard]] const Value& percentile(const std::vector<Value>& sorted, double share) {
  return sorted[static_cast<std::size_t>(std::llround(share * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace trnplan
