#include "units/sim_time.h"

#include <cmath>

namespace trnplan {

namespace {

// The largest double below 2^63: anything above does not fit the clock.
constexpr double kLargestTick = 9223372036854774784.0;

SimTime from_ticks(double ticks) {
  if (!(std::abs(ticks) <= kLargestTick)) {
    throw std::overflow_error("time is outside the simulation clock (about 106 days) or not a number");
  }
  return {static_cast<std::int64_t>(ticks)};
}

}  // namespace

SimTime to_sim_time(Seconds s) {
  return from_ticks(std::nearbyint(s.value * 1e12));
}

SimTime transfer_time(Bytes size, BytesPerSecond rate) {
  if (!(rate.value > 0)) throw std::domain_error("transfer_time: the rate must be positive");
  if (!(size.value >= 0)) throw std::domain_error("transfer_time: the size must not be negative");
  return from_ticks(std::ceil(size.value / rate.value * 1e12));
}

}  // namespace trnplan
