// Costs of the stages of strategies, uncontended, which pipeline_time.h combines. Internal to the bounds of a
// search (step_bound.h).
//
// Strategies share much: groups of one shape, collectives of one size, layers of one micro-batch and
// recompute policy are timed once.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "models/framework/schedule.h"
#include "models/job/job.h"
#include "models/operators/operators.h"
#include "models/parameters/profile.h"
#include "models/step/pipeline_time.h"
#include "models/step/step_parts.h"
#include "topology/chip_graph.h"

namespace trnplan::models {

class StrategyCosts;

/// Times of the collectives of a layer, the head and the embedding.
struct PartCollectives {
  SimTime layer, head, embedding;

  SimTime of(Chain::Part part) const {
    if (part == Chain::Part::layer) return layer;
    if (part == Chain::Part::head) return head;
    return part == Chain::Part::embedding ? embedding : SimTime{};
  }
};

/// Time of the work of a list, with its collectives free.
SimTime work(const OperatorList& list);

/// Costs of one job. Keeps references to its arguments; one thread per object.
class StageCosts {
 public:
  StageCosts(const Job& job, const Profile& profile, const topology::ChipGraph& graph);
  ~StageCosts();
  StageCosts(const StageCosts&) = delete;
  StageCosts& operator=(const StageCosts&) = delete;

  const Job& job() const;
  /// The costs of a strategy. Throws std::invalid_argument and std::overflow_error as StepModel does. Cost:
  /// microseconds, once a layout (degrees) is known.
  StrategyCosts of(const Strategy& s, int micro_batches);

 private:
  friend class StrategyCosts;
  struct Ranks;
  struct Shared;
  Shared& shared_for(const Strategy& s);

  std::unique_ptr<Shared> shared_;
  std::map<double, std::unique_ptr<Shared>> measured_;  ///< by layout_factor(), of layouts that were measured
};

/// Costs of one strategy, in steps of a given number of micro-batches. Keeps references to the strategy and
/// to the StageCosts that made it.
class StrategyCosts {
 public:
  /// Times of a micro-batch in a stage.
  struct Passes {
    SimTime forward, backward;
  };
  /// Times from a stage's last micro-batch to the barrier, and after it.
  struct Finish {
    SimTime reduce, tail;
    PartCollectives early, ahead;  ///< overlapping passes: reductions of gradients, gathers of weights
  };

  int stages() const { return stages_; }
  const PipelineSchedule& schedule() const { return schedule_of(strategy_); }
  /// True if messages are meetings of both their stages.
  bool blocking() const;
  /// Costs of a step whose chunks have `layers`, in the order of layers_per_chunk().
  StepCosts step(const std::vector<int>& layers) const;
  /// Cost of a stage whose chunks have these of `layers`; others do not matter.
  StageCost stage(int stage, const std::vector<int>& layers) const;
  /// True if this stage and the one below cost the same with the same layers. False for the first and last.
  bool like_below(int stage) const;
  /// Passes of a stage with `layers` layers, without adding up gradients. With each layer more their sum grows by
  /// no less than with the one before. Requires: VPP 1.
  Passes passes(int stage, int layers) const;
  /// Time of adding up the gradients of a micro-batch on a stage with `layers` layers.
  SimTime accumulate(int stage, int layers) const;
  Finish finish(int stage, int layers) const;

 private:
  friend class StageCosts;
  StrategyCosts(StageCosts::Shared& shared, const Strategy& s, int micro_batches);

  SimTime messages_of(int part) const;

  StageCosts::Shared& shared_;
  const Strategy& strategy_;
  StageCosts::Ranks& ranks_;
  LayerModel model_;
  int micro_batches_, stages_;
  SimTime launch_, forward_launch_, backward_launch_, barrier_;
  std::vector<BoundaryCost> boundaries_;
};

}  // namespace trnplan::models
