#include "units/sim_time.h"

#include <cmath>

namespace trnplan {

namespace {

// The largest double below 2^63; anything above does not fit the clock.
constexpr double kLargestTick = 9223372036854774784.0;

}  // namespace

SimTime to_sim_time(Seconds s) {
  const double ticks = std::nearbyint(s.value * 1e12);
  if (!(std::abs(ticks) <= kLargestTick)) {
    throw std::overflow_error("time is outside the simulation clock (about 106 days) or not a number");
  }
  return {static_cast<std::int64_t>(ticks)};
}

}  // namespace trnplan
