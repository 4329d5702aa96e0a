// Work of devices that transfers of others slow. Internal to the executor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/executor.h"
#include "sim/program.h"
#include "units/quantity.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// A device whose work is slowed by transfers on another.
struct Pace {
  const Program::Slowdown* slowdown = nullptr;  ///< of the device as the one that works
  std::vector<DeviceId> slows;                  ///< devices that this one's transfers slow
  int disturbed_by = 0;                         ///< transfers that slow it now
  TaskId working = Run::kNone;
  SimTime left, since;  ///< undisturbed length still to work, as of `since`
  SimTime end;          ///< forecast
  std::uint32_t version = 0;
  DeviceId changed_by = 0;  ///< the device of the transfer that disturbed it, or ceased to, last
  SimTime changed_at{-1};

  bool disturbed() const { return disturbed_by > 0; }
  void forecast(SimTime from) {
    since = from;
    ++version;
    const double factor = factor_if(disturbed());
    end = since + (factor == 1 ? left : to_sim_time(to_seconds(left) * factor));
  }
  /// Forecasts the end anew, after a change of `disturbed()`.
  void change(SimTime now) {
    const SimTime worked = to_sim_time(to_seconds(now - since) / factor_if(!disturbed()));
    left = std::max(SimTime{}, left - worked);
    forecast(now);
  }

 private:
  double factor_if(bool is_disturbed) const { return is_disturbed ? slowdown->factor : 1; }
};

/// The paces of all devices; empty if nothing slows anything.
class Paces {
 public:
  explicit Paces(const Program& p) : of_(p.slowdowns().empty() ? 0 : p.devices().size()) {
    for (const Program::Slowdown& s : p.slowdowns()) {
      of_[s.work].slowdown = &s;
      of_[s.transfers].slows.push_back(s.work);
    }
  }

  bool empty() const { return of_.empty(); }
  const std::vector<Pace>& all() const { return of_; }
  Pace& of(DeviceId d) { return of_[d]; }
  /// The pace of a device, if that can be slowed; nullptr for others, and for what is no device.
  Pace* slowable(DeviceId d) { return d < of_.size() && of_[d].slowdown != nullptr ? &of_[d] : nullptr; }
  /// Devices that transfers of `d` slow.
  std::span<const DeviceId> slowed_by(DeviceId d) const {
    if (of_.empty()) return {};
    return of_[d].slows;
  }

 private:
  std::vector<Pace> of_;
};

}  // namespace trnplan::sim
