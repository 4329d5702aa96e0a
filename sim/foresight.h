// Lengths of tasks that are known before they run. Internal to the executor.
//
// While a device has the resources of its flows to itself, each of its tasks takes a time that is known beforehand.
// Where each waits for the one before only, and nothing else waits for that, their times follow without events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/constraints.h"
#include "sim/executor.h"
#include "sim/fair_share.h"
#include "sim/program.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// The resources that a device has to itself but for guests: flows of other devices, of several, or of none.
class Foresight {
 public:
  /// The course of a device: the times of its tasks from `first` on up to the start of `last` are known.
  struct Course {
    TaskId first = Run::kNone, last = Run::kNone;
    std::uint32_t version = 0;  ///< counts courses: an event of an earlier one is void
    std::uint32_t guests = 0;   ///< parts of flows that use the device's resources now
  };

  /// Knows nothing.
  Foresight() = default;
  /// Knows nothing where flows seldom recur, or where transfers slow work.
  Foresight(const Program& p, const Constraints& constraints) {
    if (!constraints.recur() || !p.slowdowns().empty()) return;
    courses_.resize(p.devices().size());
    owner_.assign(constraints.capacity.size(), Constraints::kUnused);
    const auto flows = static_cast<FlowId>(p.flows().size());
    for (FlowId f = 0; f < flows; ++f) {
      if (!has_course(constraints.device(f))) continue;
      for (const filling::Part& part : constraints.parts(f))
        Constraints::agree(owner_[part.resource], constraints.device(f));
    }
    alone_.reserve(flows);
    for (FlowId f = 0; f < flows; ++f) alone_.push_back(alone(constraints, f));
  }

  bool enabled() const { return !courses_.empty(); }
  /// False for what is no device.
  bool has_course(DeviceId d) const { return d < courses_.size(); }
  Course& of(DeviceId d) { return courses_[d]; }
  /// The device that has a resource to itself but for guests, if any.
  DeviceId owner(ResourceId r) const { return owner_[r]; }
  /// The length of a flow without guests; kUnknown if it may have other company.
  SimTime alone(FlowId f) const { return alone_[f]; }
  static constexpr SimTime kUnknown{-1};

 private:
  /// Computes it as FlowNetwork and Transfers do.
  SimTime alone(const Constraints& constraints, FlowId f) const {
    const auto parts = constraints.parts(f);
    if (parts.empty()) return {};
    double level = std::numeric_limits<double>::infinity();
    for (const filling::Part& part : parts) {
      if (owner_[part.resource] != constraints.device(f)) return kUnknown;
      level = std::min(level, part.level);
    }
    const double ticks = filling::ticks_at(filling::rate_at(level, constraints.scale(f)), 1);
    return filling::end_after({}, ticks).value_or(kUnknown);
  }

  std::vector<Course> courses_;  ///< by device; empty if nothing is known
  std::vector<DeviceId> owner_;  ///< by constraint
  std::vector<SimTime> alone_;   ///< by flow
};

}  // namespace trnplan::sim
