// The clock of a simulation.
#pragma once

#include <compare>
#include <cstdint>

#include "units/quantity.h"

namespace trnplan {

/// Simulated time in integer picoseconds, so that equal times are exactly equal and a run gives the same
/// answer on every machine. Range: about +/- 106 days; longer spans (a whole training run) use Seconds.
struct SimTime {
  std::int64_t ps = 0;

  constexpr auto operator<=>(const SimTime&) const = default;
  constexpr SimTime& operator+=(SimTime o) {
    ps += o.ps;
    return *this;
  }
  friend constexpr SimTime operator+(SimTime a, SimTime b) { return {a.ps + b.ps}; }
  friend constexpr SimTime operator-(SimTime a, SimTime b) { return {a.ps - b.ps}; }
};

constexpr Seconds to_seconds(SimTime t) {
  return Seconds(static_cast<double>(t.ps) * 1e-12);
}

/// Nearest tick to `s`. Throws std::overflow_error beyond the clock's range or for a value that is not a
/// number.
SimTime to_sim_time(Seconds s);

/// Sum that throws std::overflow_error instead of wrapping.
SimTime checked_add(SimTime a, SimTime b);

/// Time to push `size` through `rate`, rounded up to the next tick; latency is not included.
/// Throws std::domain_error if `rate` is not positive or `size` is negative, std::overflow_error beyond the
/// clock.
SimTime transfer_time(Bytes size, BytesPerSecond rate);

}  // namespace trnplan
