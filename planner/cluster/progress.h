// Progress of a job through steps and checkpoints, in closed form: a jump over any number of checkpoints costs
// the same as one step. It is the arithmetic of simulate_run() (planner/cost/goodput.h) for a step that may
// change its length on the way.
#pragma once

#include "units/quantity.h"

namespace trnplan::planner {

/// Checkpoints of a job.
struct CheckpointTimes {
  double every_steps = 1;  ///< steps between them
  Seconds stall{};         ///< for each
  Seconds unsafe{};        ///< from the end of the stall until it is safe; the next one waits for that
};

class Progress {
 public:
  Progress(double steps, const CheckpointTimes& checkpoints) : steps_(steps), times_(checkpoints) {}

  /// Time until the last step ends, if each takes `step`. The last needs no checkpoint.
  [[nodiscard]] Seconds remaining(Seconds step) const;
  /// Trains for `time`. Requires: at most remaining(step).
  void advance(Seconds time, Seconds step);
  /// Marks all steps as done.
  void finish() { done_ = steps_; }
  /// Goes back to the last safe checkpoint.
  void lose();

  [[nodiscard]] double done() const { return done_; }
  /// Steps in safe checkpoints.
  [[nodiscard]] double safe() const { return safe_; }

 private:
  [[nodiscard]] double stop() const;
  [[nodiscard]] bool last() const { return stop() >= steps_; }
  [[nodiscard]] Seconds computed(Seconds step) const;
  [[nodiscard]] Seconds saved(Seconds step) const;
  [[nodiscard]] Seconds period(Seconds step) const;
  [[nodiscard]] double saves_after(double steps) const;
  void settle(Seconds time);
  void within(Seconds time, Seconds step);

  double steps_;
  CheckpointTimes times_;
  double done_ = 0;     ///< steps, with parts of one
  double resumed_ = 0;  ///< steps in the last checkpoint, safe or not
  double safe_ = 0;
  Seconds saving_{-1};   ///< left of the stall of a checkpoint; negative outside one
  Seconds pending_{-1};  ///< left until the last checkpoint is safe; negative if it is
};

}  // namespace trnplan::planner
