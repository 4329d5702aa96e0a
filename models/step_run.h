// A step's program, run. Internal to the step model.
#pragma once

#include <cstdint>

#include "models/step_program.h"

namespace trnplan::models {

/// A step's run, of fewer micro-batches than it has where the rest repeats what is there.
struct StepRun {
  StepProgram step;
  sim::Run run;
  std::int64_t repeats = 0;  ///< of the run's rhythm, besides

  SimTime end() const;
};

/// Every micro-batch. Throws TooManyPasses (step.h).
StepRun run_unfolded(const StepParts& parts, Layout& layout, bool expand, bool segments = false);

/// Runs few micro-batches, then more, until the run gets into a rhythm; then the rest of them is counted.
/// `whole`: of the first micro-batches, all tasks of so many have ended before the rhythm. `segments` as
/// make_program(). Throws as run_unfolded(), which it falls back to.
StepRun run_folded(const StepParts& parts, Layout& layout, bool expand, int whole = 0, bool segments = false);

}  // namespace trnplan::models
