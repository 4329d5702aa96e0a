// Comparison of numbers up to rounding.
#pragma once

#include <algorithm>
#include <cmath>

namespace trnplan {

inline bool close(double a, double b, double relative = 1e-9) {
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

}  // namespace trnplan
