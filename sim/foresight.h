// Lengths of tasks that are known before they run. Internal to the executor.
//
// While a device has the resources of its flows to itself, each of its tasks takes a time that is known beforehand.
// Where each waits for the one before only, and nothing else waits for that, their times follow without events.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/constraints.h"
#include "sim/executor.h"
#include "sim/program.h"
#include "sim/sides.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// The resources that a device has to itself but for guests: flows of other devices, of several, or of none. A resource
/// is the device's of which the most tasks use it. The engine of a series belongs to its device.
class Foresight {
 public:
  /// The course of a device: the times of its tasks are known from `beat` of `first` on up to the start of
  /// `last_beat` of `last`. A task that is no series has one beat.
  struct Course {
    TaskId first = Run::kNone, last = Run::kNone;
    std::uint32_t beat = 0, last_beat = 0;
    SimTime since, at;             ///< when the first and the last of these beats start
    std::uint32_t version = 0;     ///< counts courses: an event of an earlier one is void
    std::uint32_t guests = 0;      ///< parts of flows that use the device's resources now
    bool slowed = false;           ///< transfers slow its work now
    bool is_engine = false;        ///< of a series
    std::uint32_t open = 0;        ///< sides of the last beat that are under way, where it has an engine
    std::uint32_t engine_at = 0;   ///< the element that is under way on the engine, in the beat
    SimTime engine_since, closed;  ///< when that started; when a side of a beat last ended by an event
    SimTime closed_since;          ///< when that end was scheduled
  };

  /// Knows nothing.
  Foresight() = default;
  /// Knows nothing where flows seldom recur. Ends of transfers that slow work are not known beforehand but in series.
  Foresight(const Program& p, const Constraints& constraints);

  bool enabled() const { return !courses_.empty(); }
  /// False for what is no device.
  bool has_course(DeviceId d) const { return d < courses_.size(); }
  Course& of(DeviceId d) { return courses_[d]; }
  /// The device that has a resource to itself but for guests, if any.
  DeviceId owner(ResourceId r) const { return owner_[r]; }
  static constexpr SimTime kUnknown{-1};
  /// The length of a flow without guests; kUnknown if it may have other company.
  SimTime alone(FlowId f) const { return alone_[f]; }

  /// True if the times of all beats of a series are known while it has no guests.
  bool known(SeriesId s) const { return known_[s]; }
  /// Length of a beat, by its number in the program.
  SimTime length(std::uint32_t beat) const { return length_[beat]; }
  /// Start of a beat since that of the series; of those that are not known the length counts as none.
  SimTime start(std::uint32_t beat) const { return start_[beat]; }
  /// End of an element since the start of the series, if that is known().
  SimTime end(std::uint32_t element) const { return end_[element]; }
  std::vector<SimTime> take_ends() { return std::move(end_); }
  /// The state at `now` of a beat with an engine that began at `start`, of known length().
  Sides sides(SeriesId s, const Beat& beat, SimTime start, SimTime now) const {
    return sides(beat, factor_[s], start, now);
  }

 private:
  void find_owners(const Constraints& constraints);
  SimTime find_alone(const Constraints& constraints, FlowId f) const;
  void find_series();
  bool find_beat(double factor, std::uint32_t beat, SimTime start);
  double find_factor(const Series& series) const;
  Sides sides(const Beat& beat, double slowdown, SimTime start, SimTime now) const;
  SimTime alone_of(const Element& e) const { return e.flow == Task::kNoFlow ? SimTime{} : alone_[e.flow]; }

  const Program* program_ = nullptr;
  std::vector<Course> courses_;          ///< by device; empty if nothing is known
  std::vector<DeviceId> lane_;           ///< by device: itself, or the device of its series
  std::vector<DeviceId> owner_;          ///< by constraint
  std::vector<SimTime> alone_;           ///< by flow
  std::vector<bool> known_;              ///< by series
  std::vector<double> factor_;           ///< likewise
  std::vector<SimTime> start_, length_;  ///< by beat
  std::vector<SimTime> end_;             ///< by element
};

}  // namespace trnplan::sim
