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

/// The resources that a device has to itself but for guests: flows of other devices, of several, or of none. A resource
/// is the device's of which the most tasks use it.
class Foresight {
 public:
  /// The course of a device: the times of its tasks from `first` on up to the start of `last` are known.
  struct Course {
    TaskId first = Run::kNone, last = Run::kNone;
    std::uint32_t version = 0;  ///< counts courses: an event of an earlier one is void
    std::uint32_t guests = 0;   ///< parts of flows that use the device's resources now
    bool slowed = false;        ///< transfers slow its work now
  };

  /// Knows nothing.
  Foresight() = default;
  /// Knows nothing where flows seldom recur. Ends of transfers that slow work are never known beforehand.
  Foresight(const Program& p, const Constraints& constraints) {
    if (!constraints.recur()) return;
    courses_.resize(p.devices().size());
    std::vector<bool> slows(courses_.size());
    for (const Program::Slowdown& s : p.slowdowns()) slows[s.transfers] = true;
    owner_.assign(constraints.capacity.size(), Constraints::kUnused);
    std::vector<std::size_t> lead(owner_.size());  // of the owner's tasks over those of others
    const auto flows = static_cast<FlowId>(p.flows().size());
    for (FlowId f = 0; f < flows; ++f) {
      const DeviceId d = constraints.device(f);
      if (!has_course(d) || slows[d]) continue;
      for (const filling::Part& part : constraints.parts(f))
        claim(part.resource, d, constraints.tasks(f), lead);
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
  /// Counts the tasks of a flow of a device for it (R. Boyer, J. Moore, MJRTY, 1981).
  void claim(ResourceId r, DeviceId d, std::size_t tasks, std::vector<std::size_t>& lead) {
    if (owner_[r] == d) {
      lead[r] += tasks;
    } else if (lead[r] >= tasks) {
      lead[r] -= tasks;
    } else {
      owner_[r] = d;
      lead[r] = tasks - lead[r];
    }
  }

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
