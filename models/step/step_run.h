// The run of a step's program. Internal to the step model.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/step_program.h"

namespace trnplan::models {

/// The run of a step, with fewer micro-batches than the step where the rest repeats them.
struct StepRun {
  StepProgram step;
  sim::Run run;
  std::int64_t repeats = 0;  ///< more repeats of the run's rhythm

  SimTime end() const;
};

/// Runs every micro-batch. `jitter`, which may be null: random times. Throws TooManyPasses (step.h).
StepRun run_unfolded(const StepParts& parts, Layout& layout, Detail detail, bool segments = false,
                     Jitter* jitter = nullptr);

/// Runs a few micro-batches, then more, until the run reaches a rhythm, and counts the rest. All tasks of the
/// first `whole` micro-batches end before the rhythm. `segments` as in make_program(). Falls back to
/// run_unfolded(), and throws as it does.
StepRun run_folded(const StepParts& parts, Layout& layout, Detail detail, int whole = 0,
                   bool segments = false);

struct StepTimes {
  SimTime end;
  std::int64_t tasks = 0, events = 0;
  /// The chain of tasks that determines the end. The bubble is micro-batch work of other stages, before
  /// the path first visits its main stage and after its last visit: filling and draining the pipeline.
  Attribution path;
  bool folded = false;        ///< some micro-batches were counted instead of run
  bool extrapolated = false;  ///< the rest is assumed to grow like the run; see time_folded()
};

/// Times of every micro-batch. Throws as run_unfolded() does.
StepTimes time_unfolded(const StepParts& parts, Layout& layout, Detail detail, Jitter* jitter = nullptr);

/// Times with run_folded(). Stages of almost the same pace drift apart by microseconds a round, and then
/// there is no rhythm for thousands of rounds. A step that is too large to run in full is then extrapolated
/// from its growth. The conditions: twice and four times as many micro-batches make it proportionally longer,
/// to 1 / 10,000, and no stage is slower than that. Exact, to the tick, while the same stages determine its
/// end and their transfers share nothing with those that drift.
StepTimes time_folded(const StepParts& parts, Layout& layout, Detail detail);

}  // namespace trnplan::models
