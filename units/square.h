// The square of a number, where its expression is long.
#pragma once

namespace trnplan {

[[nodiscard]] constexpr double square(double x) {
  return x * x;
}

}  // namespace trnplan
