// Ends at one time of which one releases a task. Internal to the executor.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/program.h"
#include "units/sim_time.h"

namespace trnplan::sim {

/// A task is released by the last of those it waits for. Of ends at one time those come first that were scheduled
/// first. Where two were scheduled at one time too, their order depends on events that foresight leaves out.
class ReleaseOrder {
 public:
  /// Notes that a task ended `now` that is not the last of those that `t` waits for. `since`: when the event of that
  /// end was scheduled.
  void note(TaskId t, TaskId by, SimTime since, SimTime now) {
    if (at_ != now) ends_.clear();
    at_ = now;
    ends_.push_back({t, by, since});
  }
  /// True if of the ends that were noted one might come after that of `by`, which is the last so far.
  bool in_doubt(TaskId t, TaskId by, SimTime since, SimTime now) {
    if (at_ != now) ends_.clear();
    return std::any_of(ends_.begin(), ends_.end(),
                       [&](const End& e) { return e.task == t && e.by != by && e.since >= since; });
  }

 private:
  struct End {
    TaskId task, by;
    SimTime since;
  };
  std::vector<End> ends_;  ///< at `at_`
  SimTime at_;
};

}  // namespace trnplan::sim
