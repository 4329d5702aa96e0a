// A step's program, run. Internal to the step model.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/step_program.h"

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

struct StepTimes {
  SimTime end;
  std::int64_t tasks = 0, events = 0;
  /// The chain of tasks that determines the end. Micro-batch work of other stages before it first and after
  /// it last visits its main stage is the bubble: filling and draining the pipeline.
  Attribution path;
  bool folded = false;        ///< not every micro-batch was run
  bool extrapolated = false;  ///< what was not run is taken to grow as what was; see time_folded()
};

/// Of every micro-batch. Throws as run_unfolded().
StepTimes time_unfolded(const StepParts& parts, Layout& layout, bool expand);

/// As run_folded(). Stages of almost the same pace drift apart by microseconds a round, and then there is no
/// rhythm for thousands of rounds. Of a step that is too much to be run whole it is then enough how it grows:
/// when twice and four times as many micro-batches make it longer by as much each, but for 1 / 10,000, and no
/// stage goes slower than that, it is taken to grow so on. Exact, to the tick, while the same stages
/// determine its end and their transfers share nothing with those that drift.
StepTimes time_folded(const StepParts& parts, Layout& layout, bool expand);

}  // namespace trnplan::models
