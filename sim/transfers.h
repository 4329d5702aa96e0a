// Flows of a FlowNetwork in the order in which they end. Shared by the executors.
//
// Order    By time; at one time by the settlement at which their rate changed last, then by owner. A bundle has
//          one entry, that of its first flow, which is moved when the bundle changes.
// Rounding Ends are rounded up to the tick, but for what rounding of the level may have added.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/event_queue.h"
#include "sim/flow_network.h"
#include "units/sim_time.h"

namespace trnplan::sim {

class Transfers {
 public:
  explicit Transfers(const std::vector<double>& capacity) : network_(capacity) {}

  /// Makes room for so many flows at a time.
  void reserve(std::size_t flows);
  /// `owner` is what finish_next() gives back. The flow must have parts.
  void start(std::span<const filling::Part> parts, double scale, std::uint32_t owner);
  void start(const Flow& flow, std::uint32_t owner);
  /// The same for a flow that started before now, and has had its resources to itself since.
  void resume(std::span<const filling::Part> parts, double scale, std::uint32_t owner, SimTime since,
              std::uint64_t sequence);
  /// Moment at which the next flow ends; Moment{} if none does.
  Moment next() const;
  struct Finished {
    std::uint32_t owner;
    SimTime since;  ///< when its rate changed last
  };
  /// Removes the flow that ends next. Throws std::overflow_error at the end of the clock.
  Finished finish_next();

  /// True when settle() has something to do.
  bool unsettled() const { return network_.unsettled(); }
  /// Shares the resources out anew. `sequence` is one of the queue's (EventQueue::take_sequence).
  void settle(SimTime now, std::uint64_t sequence);
  /// The flows whose rate the last settle() changed: (owner, rate in 1/s), in ascending order of owner.
  const std::vector<std::pair<std::uint32_t, double>>& changed();

  /// A flow with all that decides how it goes on, except the other flows.
  struct Moving {
    Moment end;
    std::uint32_t owner = 0;
    FlowNetwork::Handle flow = 0;
  };
  /// All flows, in the order in which they end. To be asked when nothing is unsettled.
  std::vector<Moving> moving() const;
  double rate(const Moving& m) const { return network_.rate(m.flow); }
  FlowNetwork::Progress progress(const Moving& m, SimTime now) const {
    return network_.progress(m.flow, now);
  }

 private:
  struct End {
    SimTime at;
    std::uint64_t sequence;
    FlowNetwork::BundleId bundle;
    bool operator<(const End& o) const { return at != o.at ? at < o.at : sequence < o.sequence; }
  };
  struct Due {
    std::uint32_t owner;
    FlowNetwork::Handle flow;
    static bool later(const Due& a, const Due& b) { return a.owner > b.owner; }
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;
  /// The end of the clock: the flow does not get there in time.
  static constexpr SimTime kNever{std::numeric_limits<std::int64_t>::max()};

  /// The end of a flow of a bundle.
  SimTime end_of(FlowNetwork::BundleId b, FlowNetwork::Handle flow) const;
  struct Placed;
  std::size_t put(FlowNetwork::BundleId b);
  void forecast(FlowNetwork::BundleId b);
  void forecast_reshaped();
  void take_due();
  Finished finish(FlowNetwork::Handle flow);
  std::optional<FlowNetwork::Handle> take_only();

  FlowNetwork network_;
  std::vector<End> ends_;             ///< a heap with one entry a bundle that has flows
  std::vector<std::uint32_t> place_;  ///< by bundle, in `ends_`
  SimTime due_time_;
  std::uint64_t due_sequence_ = 0;
  std::vector<Due> due_;  ///< a heap of flows taken out of their bundles, which end at that time and sequence
  const std::vector<FlowNetwork::BundleId>* changed_bundles_ = nullptr;  ///< by the last settle()
  std::vector<std::pair<std::uint32_t, double>> changed_;
};

}  // namespace trnplan::sim
