// The time of a pipelined step from the costs of its stages: a lower bound in closed form, and 1F1B followed
// message by message.
//
// The bound of a stage i with l_i layers is the content of its queue, one after the other and uncontended,
// between the arrival of the first micro-batch and the end of the step:
//
//   before_i + m (forward_i + backward_i + messages_i) + drain_i + barrier + max_k tail_k
//
// with before_i the first micro-batch's way up through the stages below, and what its first forward takes
// longer than others, since it waits for its weights; drain_i the longest of its own gradients' reduction
// and, for a stage below, the last gradient's way down to it plus its reduction; and after the barrier the
// longest update. The step's bound is the largest over the stages. `pipeline_time` goes
// further: it follows 1F1B (schedule.h) message by message, and equals the engine's result where nothing is
// contended. docs/models.md, "Bound".
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "units/sim_time.h"

namespace trnplan::models {

/// A time that no step has.
inline constexpr SimTime kNever{std::numeric_limits<std::int64_t>::max()};

/// Contribution of a stage to the bound.
struct StageCost {
  SimTime each;      ///< per micro-batch: all its passes, and messages that are not meetings
  SimTime up, down;  ///< of the first chunk: a micro-batch's forward, a gradient's backward
  SimTime reduce;    ///< after its last micro-batch, until the barrier
  SimTime tail;      ///< after the barrier
  SimTime ready;     ///< its first forward does not start earlier
  SimTime waits;     ///< of its first forward for weights, beyond `up`
  SimTime
      backlog;  ///< as `reduce`, of a stage that never waits for another: more chunks' reductions are left
};
/// Contribution of the boundary above a stage.
struct BoundaryCost {
  SimTime activation, gradient;
};

struct StepCosts {
  std::vector<StageCost> stages;
  std::vector<BoundaryCost> boundaries;
  SimTime barrier;
  int micro_batches = 1;
};

/// Time per micro-batch in the queue of a stage. Messages that occupy both their stages (`blocking`) count
/// for each.
SimTime per_micro_batch(const StepCosts& costs, int stage, bool blocking);

/// The longest time of a stage after the barrier.
SimTime longest_tail(const StepCosts& costs);

/// The bound. `blocking`: messages are meetings of both their stages. `drains`: the last gradient must go
/// down before the step ends (not with a split backward). Cost: O(stages).
SimTime step_bound(const StepCosts& costs, bool blocking, bool drains);

/// Time of 1F1B without contention, to the tick. Cost: O(stages^2) where the pipeline reaches a rhythm, as it
/// mostly does, else O(stages * micro-batches). Where the time is `limit` or more, it may stop early and return
/// a smaller one, of `limit` or more.
SimTime pipeline_time(const StepCosts& costs, SimTime limit = kNever);

}  // namespace trnplan::models
