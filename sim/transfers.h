// Flows that move: progress and finish times over a FlowNetwork. Shared by the executors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "sim/flow_network.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// The forecast of a flow's end. It holds unless the flow's rate changes first; then a newer one is made.
struct Forecast {
  FlowNetwork::Handle flow = 0;
  std::uint32_t version = 0;
};

class Transfers {
 public:
  explicit Transfers(std::vector<double> capacity) : network_(std::move(capacity)) {}

  /// `owner` is what finish() gives back. The flow must have weights.
  void start(const Flow& flow, std::uint32_t owner, SimTime now) {
    const FlowNetwork::Handle h = network_.add(flow);
    if (h >= moving_.size()) moving_.resize(h + 1);
    moving_[h].left = 1;
    moving_[h].rate = 0;
    moving_[h].since = now;
    moving_[h].owner = owner;
  }
  bool holds(Forecast f) const { return moving_[f.flow].version == f.version; }
  /// What decides how a flow goes on, but for the other flows: its owner, progress still to make and rate as
  /// of `since`.
  struct Moving {
    double left = 1;  ///< progress still to make, as of `since`
    double rate = 0;  ///< 1/s
    SimTime since;
    std::uint32_t owner = 0;
    std::uint32_t version = 0;
  };
  const Moving& moving(FlowNetwork::Handle flow) const { return moving_[flow]; }
  /// Removes the flow of a forecast that holds; returns its owner. Throws std::overflow_error at the end of
  /// the clock.
  std::uint32_t finish(Forecast f, SimTime now) {
    if (now == kNever) throw std::overflow_error("a transfer ends beyond the simulation clock");
    ++moving_[f.flow].version;
    network_.remove(f.flow);
    return moving_[f.flow].owner;
  }
  /// True when settle() has something to do.
  bool unsettled() const { return network_.unsettled(); }
  /// Shares the resources out anew. Calls `forecast(SimTime end, Forecast, owner, double rate)` for each flow
  /// whose rate changed, in ascending order of owner. Ends are rounded up to the tick, but for what rounding
  /// of the rate may have added (2^-48 of the time left).
  template <class Visit>
  void settle(SimTime now, Visit&& forecast) {
    changed_ = network_.settle();
    std::sort(changed_.begin(), changed_.end(), [&](FlowNetwork::Handle a, FlowNetwork::Handle b) {
      return moving_[a].owner < moving_[b].owner;
    });
    for (const FlowNetwork::Handle h : changed_) {
      Moving& m = moving_[h];
      m.left = std::max(0.0, m.left - m.rate * to_seconds(now - m.since).value);
      m.since = now;
      m.rate = network_.rate(h);
      ++m.version;
      const SimTime end = end_of(now, m.left * (1 - 0x1p-48) / m.rate);
      forecast(end, Forecast{h, m.version}, m.owner, m.rate);
    }
  }

  /// What an event at the end of the clock means: the flow did not get there in time.
  static constexpr SimTime kNever{std::numeric_limits<std::int64_t>::max()};

 private:
  static SimTime end_of(SimTime now, double seconds) {
    const double ticks = std::ceil(seconds * 1e12);
    if (!(ticks < static_cast<double>(kNever.ps - now.ps) * (1 - 0x1p-52))) return kNever;
    return now + SimTime{static_cast<std::int64_t>(ticks)};
  }

  FlowNetwork network_;
  std::vector<Moving> moving_;
  std::vector<FlowNetwork::Handle> changed_;
};

}  // namespace trnplan::sim
