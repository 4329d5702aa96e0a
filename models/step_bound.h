// Lower bounds of step times for a whole search, and the pipeline cuts that make them smallest.
//
// The bound of a stage i with l_i layers is what its queue holds, one after the other and uncontended,
// between the arrival of the first micro-batch and the end of the step:
//
//   before_i + m (forward_i + backward_i + messages_i) + drain_i + barrier + max_k tail_k
//
// with before_i the first micro-batch's way up through the stages below; drain_i the longest of its own
// gradients' reduction and the last gradient's way down to a stage below and that one's; and after the
// barrier the longest update. The step's bound is the largest over the stages. `pipeline_time` goes further:
// it follows 1F1B message by message, and is what the engine gives where nothing is contended.
// docs/models.md, "Bound".
//
// Much is shared between strategies: groups of one shape, collectives of one size, layers of one micro-batch
// and recompute policy are timed once.
#pragma once

#include <memory>
#include <vector>

#include "models/job.h"
#include "models/profile.h"
#include "topology/chip_graph.h"
#include "units/sim_time.h"

namespace trnplan::models {

/// What a stage adds to the bound.
struct StageCost {
  SimTime each;      ///< per micro-batch: all its passes, and the messages that are no meetings
  SimTime up, down;  ///< of the first chunk: a micro-batch's forward, a gradient's backward
  SimTime reduce;    ///< after its last micro-batch, until the barrier
  SimTime tail;      ///< after the barrier
};
/// What the boundary above a stage adds.
struct BoundaryCost {
  SimTime activation, gradient;
};

struct StepCosts {
  std::vector<StageCost> stages;
  std::vector<BoundaryCost> boundaries;
  SimTime barrier;
  int micro_batches = 1;
};

/// The bound. `blocking`: messages are meetings of both their stages; `drains`: the last gradient must go
/// down before the step ends (not with a split backward). Cost: O(stages).
SimTime step_bound(const StepCosts& costs, bool blocking, bool drains);

/// Of 1F1B without contention, to the tick. Cost: O(stages^2) where the pipeline settles into a rhythm, as it
/// mostly does, else O(stages * micro-batches).
SimTime pipeline_time(const StepCosts& costs);

/// Bounds of one job's strategies under 1F1B and interleaved schedules. Remembers what strategies share: one
/// thread per object. Keeps references to its arguments.
class StepBounds {
 public:
  StepBounds(const Job& job, const Profile& profile, const topology::ChipGraph& graph);
  StepBounds(const Job&, Profile&&, const topology::ChipGraph&) = delete;
  ~StepBounds();
  StepBounds(const StepBounds&) = delete;
  StepBounds& operator=(const StepBounds&) = delete;

  /// As StepModel::lower_bound() of a step of that many micro-batches, but for a tick an item. Throws
  /// std::invalid_argument and std::overflow_error as StepModel does. Cost: microseconds, once a layout
  /// (degrees) is known.
  SimTime lower_bound(const Strategy& s, int micro_batches);

  /// pipeline_time() of a strategy without virtual pipeline, else lower_bound(). Never above the simulated
  /// time.
  SimTime without_contention(const Strategy& s, int micro_batches);

  /// Never above lower_bound() of `s` with whatever cuts. VPP 1 only.
  SimTime bound_of_any_cuts(const Strategy& s, int micro_batches);

  /// Layers of each stage that make pipeline_time() smallest when stage i may hold most[i] layers; empty when
  /// the layers do not fit in. VPP 1 only. The smallest bound is found by dynamic programming; where it is
  /// not the time, moves of single layers follow. Equal to trying all cuts on small models (tests). Among
  /// equals the automatic ones. Cost: O(PP * layers * choices), milliseconds, at most tens of them.
  std::vector<int> best_layers(const Strategy& s, int micro_batches, const std::vector<int>& most);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// What the busiest stage computes in a step, every collective free: a bound that still holds where a replica
/// group is refused and nothing can be said about the time of its collectives. Cost: microseconds.
SimTime compute_bound(const Job& job, const Strategy& s, const Profile& profile, int micro_batches);

}  // namespace trnplan::models
