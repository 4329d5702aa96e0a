// Max-min fair sharing of resources among coflows.
//
//   maximise lexicographically the smallest of  x_f * s_f   subject to   sum_f w_fr * x_f <= C_r
//
// x_f progress rate of flow f (1/s), w_fr bytes of flow f on resource r, s_f its scale (the largest w_fr
// unless it says otherwise), C_r capacity (bytes/s). Solved by progressive filling: all flows rise together
// in x*s, their level (bytes/s), until a resource is full; its flows are fixed at that level; the rest rise
// on. (D. Bertsekas, R. Gallager, Data Networks, 2nd ed., section 6.5.2; weights as in coflow sharing.)
//
// The result must not depend on the order in which flows came, or an incremental solver could not give the
// same answer as one from scratch to the last bit. So what is summed per resource is integer (addition of
// integers has no order), and every rounding goes the way that keeps two properties exact:
//
//   1. A resource is never used beyond its capacity (shares round up, uses round down by less).
//   2. Fixing a flow never lowers the level of a resource, not by one bit. With l units of capacity left and
//   shares r
//      rising, the level is a monotone function of floor(2^66 l / r). A flow of share s that is fixed at no
//      more than this level takes u <= l s / r units: the level is computed with 3 roundings, u with 3 more,
//      each of relative 2^-53 at most, and both are lowered by 2^-50, 16 units of 2^-53 together against 6.
//      Hence (l - u) / (r - s) >= l / r exactly, and so is the floor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sim/program.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// Rates (1/s) of `active` flows, from scratch; the oracle of FlowNetwork. A flow without weights gets
/// infinity. `capacity` is indexed by ResourceId. Cost: O(rounds * (flows + total weights)).
std::vector<double> fair_rates(const std::vector<const Flow*>& active, const std::vector<double>& capacity);

/// The arithmetic both solvers share.
namespace filling {

/// Sum of shares. Aligned as its halves, which makes what has one smaller.
__extension__ using Load [[gnu::aligned(8)]] = unsigned __int128;

/// Shares are in units of 2^-57 and at most kMostFlowsInOne, capacities in units of 2^-60 of them.
inline constexpr double kShareUnits = 0x1p57;
inline constexpr double kCapacityUnits = 0x1p60;

/// A flow's weight on a resource over its scale, rounded up: a weight below 2^-57 of it counts as that.
std::uint64_t share_of(double bytes, double scale);
/// Scale of a flow, 0 without weights.
double scale_of(const Flow& flow);

/// A resource while flows rise.
struct Room {
  std::uint64_t left = std::uint64_t{1} << 60;  ///< free capacity
  Load rising = 0;                              ///< shares of the flows not fixed yet

  /// The level at which the resource is full, bytes/s, a hair (2^-50) low; `rising` must not be 0.
  double level(double capacity) const {
    const Load quotient = (static_cast<Load>(left) << 66) / rising;
    return capacity * (static_cast<double>(quotient) * 0x1p-66) * kRaise;
  }
  /// A level below that one by 2^-30 or so, for less.
  double level_below(double capacity) const {
    const auto high = static_cast<double>(static_cast<std::uint64_t>(rising >> 32));
    return capacity * (static_cast<double>(left) / (high + 1)) * (0x1p-35 * (1 - 0x1p-30));
  }
  /// Capacity that a share takes at `level`, rounded down; no more than all, so a signed integer holds it.
  static std::uint64_t use(std::uint64_t share, double level, double capacity) {
    return static_cast<std::uint64_t>(
        static_cast<std::int64_t>(level * static_cast<double>(share) / capacity * kLower));
  }
  void fix(std::uint64_t share, std::uint64_t used, std::uint32_t flows = 1) {
    rising -= static_cast<Load>(share) * flows;
    left -= used * flows;
  }

 private:
  static constexpr double kHair = 1 - 0x1p-50;
  static constexpr double kLower = kHair * (kCapacityUnits / kShareUnits);
  static constexpr double kRaise = kHair * (kShareUnits / kCapacityUnits);
};

/// A share of a resource that a flow has.
struct Part {
  ResourceId resource = 0;
  std::uint64_t share = 0;
  double level = 0;  ///< that the resource lets the flow reach alone; 0: not known yet

  Part with_level(double capacity) const { return {resource, share, Room{.rising = share}.level(capacity)}; }
};

/// Progress rate at a level; takes back the hair.
inline double rate_at(double level, double scale) {
  return level * (1 + 0x1p-50) / scale;
}

/// Progress left, but for a hair that rounding of the level may have added (2^-48).
inline double less_a_hair(double left) {
  return left * (1 - 0x1p-48);
}
/// Ticks that progress takes at a rate.
inline double ticks_at(double rate, double progress) {
  return less_a_hair(progress) / rate * 1e12;
}

/// The first tick at which a transfer with that many ticks to go has ended; nullopt beyond the clock.
std::optional<SimTime> end_after(SimTime since, double ticks);

}  // namespace filling

/// A flow that has its resources to itself: execute() gives it the same time, to the tick.
class LoneFlow {
 public:
  /// `scale` as filling::scale_of() says.
  explicit LoneFlow(double scale) : scale_(scale) {}
  /// Adds a resource that the flow uses, with bytes > 0.
  void use(double bytes, double capacity) {
    if (bytes == bytes_ && capacity == capacity_) return;  // as on most links of a ring
    bytes_ = bytes;
    capacity_ = capacity;
    const filling::Room room{.rising = filling::share_of(bytes, scale_)};
    level_ = std::min(level_, room.level(capacity));
  }
  /// Zero without a resource. Throws std::overflow_error beyond the clock.
  SimTime length() const;

 private:
  double scale_, bytes_ = 0, capacity_ = 0;
  double level_ = std::numeric_limits<double>::infinity();
};

}  // namespace trnplan::sim
