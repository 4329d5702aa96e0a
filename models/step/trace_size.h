// Length of the trace of a step (models/step/rank_trace.h), without writing it.
#pragma once

#include <cstdint>

#include "models/step/step.h"
#include "models/step/step_items.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// Number of nodes that a step has on all ranks: at most fixed + micro-batches x per_micro_batch.
struct TraceSize {
  std::int64_t fixed = 0, per_micro_batch = 0;
};
/// Bound of the number of nodes. Cost: O(stages x operators of a layer).
TraceSize rank_trace_size(const StepModel& model);

/// The part of a transfer that the host takes to start it, or that a bucket adds: a node of its own.
SimTime launch_of(const Item& item);

}  // namespace trnplan::models
