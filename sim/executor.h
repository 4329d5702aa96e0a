// Runs a program.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/program.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// What happened.
struct Run {
  SimTime end;                          ///< when the last task ended; zero for an empty program
  std::vector<SimTime> started, ended;  ///< per task
  std::vector<TaskId> released_by;  ///< per task: the task whose end let it start; kNone for the first ones
  std::uint64_t events = 0;

  static constexpr TaskId kNone = 0xffffffffu;

  /// The chain of tasks that determined `end`, first to last; they abut, so their lengths add up to `end`.
  std::vector<TaskId> critical_path() const;
};

/// Told of every change of a flow's progress rate (1/s; 0 at its end), in the order in which it happens. A
/// flow's use of a resource is rate * bytes of its weight.
using RateObserver = std::function<void(SimTime at, TaskId task, double rate)>;

/// Runs the program to its end. Same program, same run, on every machine.
///
/// Sharing  Rates are solved anew whenever a flow starts or ends, for the flows that feel it only
///          (sim/flow_network.h); changes at one instant are settled together.
/// Rounding A flow ends at the first tick at which it is done; each change of its rate may add one tick.
/// Errors   std::logic_error when tasks wait for each other in a circle (says which), std::overflow_error
///          beyond the clock (106 days).
/// Threads  Any number of runs at once: nothing is shared.
/// Cost     O(tasks log tasks) plus the solves.
Run execute(const Program& program, const RateObserver& observer = {});

}  // namespace trnplan::sim
