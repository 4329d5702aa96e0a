// Times of collectives that overlap a pass, uncontended: weights that are gathered during the first forward pass,
// and gradients that are reduced during the last backward passes. Terms of the bound (pipeline_time.h).
#pragma once

#include <vector>

#include "models/framework/schedule.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Equal parts of a pass, one after the other, each with a collective of its own that overlaps the pass.
struct PartTime {
  SimTime work, collective;
  int times = 1;
};

/// The first forward pass of a stage. The gather of each part runs during the part before it, and a part
/// waits for its gather; the first gather starts with the step.
struct FirstForward {
  SimTime ready;   ///< no pass starts earlier
  SimTime length;  ///< from its start
};
[[nodiscard]] FirstForward first_forward(SimTime launch, const std::vector<PartTime>& parts);

/// Reductions, one after another, each after its part of a backward pass.
class Reductions {
 public:
  /// Adds those of a pass whose first part starts at `start`.
  void add(SimTime start, const std::vector<PartTime>& parts);
  /// The end of the last one.
  [[nodiscard]] SimTime end() const { return end_; }

 private:
  SimTime end_;
};

/// Passes of a stage between the last backward pass of a chunk and the end of its passes, by chunk.
struct PassesAfter {
  std::vector<int> forward, backward;
};
/// Those after the last backward pass of each chunk. Without split backward passes. Cost: O(micro-batches x
/// chunks).
[[nodiscard]] std::vector<PassesAfter> passes_after_last(const PipelineSchedule& schedule, int stage,
                                                         const PipelineShape& shape);

/// The passes of one chunk of a stage.
struct ChunkTime {
  SimTime forward, backward;  ///< with all that goes with them on the stage's queue
  SimTime launch;             ///< of a backward pass, before its first part
  std::vector<PartTime> backward_parts;
};

/// Time from the end of a stage's passes to the end of its reductions. `stage`: only what the last pass is
/// certain to leave; `queue`: where the queue of the stage never waits, with earlier chunks' reductions.
struct LateReductions {
  SimTime stage, queue;
};
[[nodiscard]] LateReductions late_reductions(const std::vector<ChunkTime>& chunks,
                                             const std::vector<PassesAfter>& after);

}  // namespace trnplan::models
