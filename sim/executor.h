// Runs a program.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/program.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// A stretch of a program that repeats itself. For each task t from `first` on and below `beyond`, t + period is
/// the same task, waits for the same tasks, each `period` later, and is in the same queues. Every queue goes
/// on at `beyond` or later.
struct Repeats {
  TaskId first = 0, period = 0, beyond = 0;
};

/// Two instants of a run at which all is the same but the clock and the place in the program: what is done,
/// what is under way since when, how far every flow is, at which rate, what comes next in which order. What
/// happens after an instant follows from that alone, so a program that has the tasks between the two places
/// once more takes `length` more, and so on.
struct Rhythm {
  TaskId tasks = 0;              ///< the place of the second instant less that of the first
  SimTime length;                ///< its time less that of the first
  SimTime at;                    ///< time of the second
  std::uint64_t events = 0;      ///< between them
  std::vector<TaskId> from, to;  ///< under way at the first and at the second, ascending
};

/// Tasks of a chain, first to last, that come so many times one after the other.
struct PathPart {
  std::vector<TaskId> tasks;
  std::int64_t times = 1;
};

/// Ends of the elements of series.
struct ElementTimes {
  std::vector<std::uint32_t>
      place;                   ///< per task, of its first element in `ends`; kAlone: as if it had no company
  std::vector<SimTime> ends;   ///< of a beat where two tie: SimTime{-1} for what did not determine its end
  std::vector<SimTime> alone;  ///< by element of the program, since the start of the series

  static constexpr std::uint32_t kAlone = 0xffffffffu;
};

/// Result of a run.
struct Run {
  SimTime end;                          ///< when the last task ended; zero for an empty program
  std::vector<SimTime> started, ended;  ///< per task
  std::vector<TaskId> released_by;  ///< per task: the task whose end let it start; kNone for the first ones
  std::uint64_t events = 0;         ///< that were handled
  std::optional<Rhythm> rhythm;     ///< the first one, where it was looked for and there is one
  ElementTimes elements;            ///< of tasks that are series

  static constexpr TaskId kNone = 0xffffffffu;

  /// The chain of tasks that determined `end`, first to last; they abut, so their lengths add up to `end`.
  std::vector<TaskId> critical_path() const;
  /// Calls `visit(element, length)` for the chain of elements that determined the end of a task that is a series.
  template <class Visit>
  void each_element(const Program& program, TaskId t, const Visit& visit) const;
  /// The same of a program in which what lies between the instants of `rhythm` is done so many times more.
  /// Their lengths add up to `end` and as many times the rhythm's length. Cost: O(tasks).
  std::vector<PathPart> critical_path(std::int64_t repeats) const;
};

template <class Visit>
void Run::each_element(const Program& program, TaskId t, const Visit& visit) const {
  const Series& series = program.series_of(t);
  const std::uint32_t first = program.first_element(t), place = elements.place[t];
  const bool alone = place == ElementTimes::kAlone;
  const auto ended_at = [&](std::uint32_t e) {
    return alone ? started[t] + elements.alone[e] : elements.ends[place + e - first];
  };
  SimTime start = started[t];
  const auto go = [&](std::uint32_t e) {
    visit(program.elements()[e], ended_at(e) - start);
    start = ended_at(e);
  };
  for (std::uint32_t b = series.first_beat; b < series.first_beat + series.beats; ++b) {
    const Beat& beat = program.beats()[b];
    const std::uint32_t last = beat.first + beat.count - 1;
    if (ended_at(beat.first) >= ended_at(last)) {
      go(beat.first);
    } else {
      for (std::uint32_t e = beat.first + 1; e <= last; ++e) go(e);
    }
  }
}

/// Observer of every change of a flow's progress rate (1/s; 0 at its end), in the order in which they happen. A
/// flow's use of a resource is rate * bytes of its weight.
using RateObserver = std::function<void(SimTime at, TaskId task, double rate)>;

/// Runs the program to its end. Same program, same run, on every machine.
///
/// Sharing  Rates are solved anew whenever a flow starts or ends, for the flows that feel it only
///          (sim/flow_network.h); changes at one instant are settled together.
/// Rounding A flow ends at the first tick at which it is done; each change of its rate may add one tick.
/// Errors   std::logic_error when tasks wait for each other in a circle (says which), std::overflow_error
///          beyond the clock (106 days), or for capacities more than 2^80 apart (sim/flow_network.h).
/// Threads  Any number of runs at once: nothing is shared.
/// Cost     O(tasks log tasks) plus the solves. Less where nobody observes: tasks of a device that has the resources
///          of its flows to itself, and of which each waits for the one before only, take no events while no other
///          flow comes there (sim/foresight.h). Series there take but a few events each.
/// Series   Give the run of Program::expanded(). An observer sees the numbers of its tasks.
Run execute(const Program& program, const RateObserver& observer = {});

/// The same, and looks for a rhythm in the part that repeats. Requires: no series. Cost: besides, O(tasks in
/// the window of what is under way) a period.
Run execute(const Program& program, const Repeats& repeats);

}  // namespace trnplan::sim
