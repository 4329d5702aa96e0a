// Runs a program.
#pragma once

#include <cstdint>
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

/// Runs the program to its end. Same program, same run, on every machine.
///
/// Sharing  Rates of flows that touch each other, directly or through others, are solved anew whenever one of
/// them
///          starts or ends; changes at one instant are settled together. Other flows keep their rates and
///          finish times.
/// Rounding A flow ends at the first tick at which it is done; each change of its rate may add one tick.
/// Errors   std::logic_error when tasks wait for each other in a circle (says which), std::overflow_error
/// beyond the
///          clock (106 days).
/// Threads  Any number of runs at once: nothing is shared.
/// Cost     O(tasks log tasks) plus the solves.
Run execute(const Program& program);

}  // namespace trnplan::sim
