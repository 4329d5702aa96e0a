// Lower bounds of step times for a whole search, and the pipeline cuts that make them smallest: what the
// stages cost (stage_costs.h), put together (pipeline_time.h), and layers shared out (layer_split.h).
// docs/models.md, "Bound".
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "topology/chip_graph.h"
#include "units/sim_time.h"

namespace trnplan::models {

class StageCosts;

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
  std::unique_ptr<StageCosts> costs_;
};

/// Bounds of what one job's strategies compute in a step, every collective free. One thread per object. Keeps a reference
/// to `job`.
class ComputeBounds {
 public:
  ComputeBounds(const Job& job, const Profile& profile);

  /// Time of the busiest stage: a bound that still holds where a replica group is refused and nothing can be said about
  /// the time of its collectives. Cost: microseconds.
  SimTime busiest_stage(const Strategy& s, int micro_batches);

  /// Time of the layers alone of the busiest stage, at least, with whatever cuts. Remembers the time of a layer, which
  /// strategies share that differ in the degrees that share layers and batches out. Throws std::overflow_error where a layer
  /// is beyond the simulation clock. Cost: below a microsecond once a kind of layer is known.
  Seconds layers(const Strategy& s, int micro_batches);

 private:
  const Job& job_;
  SimTime layer(const Strategy& s);  ///< forward and backward

  Profile profile_;  ///< on the job
  std::map<Strategy, SimTime> layers_;
};

}  // namespace trnplan::models
