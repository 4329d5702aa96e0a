// The clock of a simulation.
#pragma once

#include <compare>
#include <cstdint>
#include <stdexcept>

#include "units/quantity.h"

namespace trnplan {

/// Simulated time in integer picoseconds, so that equal times are exactly equal and a run gives the same
/// answer on every machine. Range: about +/- 106 days; longer spans (a whole training run) use Seconds.
struct SimTime {
  std::int64_t ps = 0;

  constexpr auto operator<=>(const SimTime&) const = default;
  constexpr SimTime& operator+=(SimTime o) { return *this = *this + o; }
  /// Sums and multiples throw std::overflow_error when they leave the range; they never wrap.
  friend constexpr SimTime operator+(SimTime a, SimTime b) {
    SimTime sum;
    if (__builtin_add_overflow(a.ps, b.ps, &sum.ps))
      throw std::overflow_error("the simulation clock overflowed");
    return sum;
  }
  friend constexpr SimTime operator*(SimTime a, std::int64_t n) {
    SimTime product;
    if (__builtin_mul_overflow(a.ps, n, &product.ps))
      throw std::overflow_error("the simulation clock overflowed");
    return product;
  }
  /// Differences may wrap: they are meant for times of one run, which are never negative.
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return {a.ps - b.ps}; }
};

constexpr Seconds to_seconds(SimTime t) {
  return Seconds(static_cast<double>(t.ps) * 1e-12);
}

/// Nearest tick to `s`. Throws std::overflow_error when `s` is beyond the clock's range or NaN.
SimTime to_sim_time(Seconds s);

}  // namespace trnplan
