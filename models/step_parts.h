// What a step is put together from: passes of stages, messages between them, the end of the step. Internal to
// the step model.
//
// Stages that do the same work on the same cores of their nodes are built once: a class. What another stage
// of the class puts on resources is the same, moved by the difference of their node classes (`shift`).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/step.h"
#include "models/step_items.h"
#include "topology/placement.h"
#include "topology/rank_order.h"

namespace trnplan::models {

using Groups = std::vector<std::vector<int>>;

/// Groups of one stage, by what runs on them.
struct StageGroups {
  Groups tensor, kv, context, expert;
  Groups data;         ///< over which ZeRO-1 shards: DP x CP
  Groups replicas;     ///< DP alone: plain data parallel after context ranks have added up
  Groups expert_data;  ///< as data for expert weights: DP x CP / EP
  const Groups& of(Scope scope) const;
};

/// A sequence of items run alone.
struct ChainRun {
  struct Span {
    SimTime start, end;
    bool beside = false;  ///< on the collective engine
  };
  Charge charge;  ///< along its critical path
  SimTime length;
  std::vector<Span> spans;  ///< of each item
};
/// Devices 0 (compute) and 1 (collectives that run beside it).
ChainRun run_chain(const Fabric& fabric, const Items& chain, double slowdown);

/// Operators that are done one after the other, `times` times.
struct Chain {
  enum class Part { embedding, layer, head, gradients } part = Part::layer;  ///< gradients: adding them up
  std::shared_ptr<const Items> items;
  std::shared_ptr<const ChainRun> run;
  int times = 1;
};

/// A stage's pass over one micro-batch and chunk.
struct Pass {
  std::vector<Chain> chains;
  std::optional<Item> launch;
  Item whole;  ///< the same as one task of known length
  Flops flops{};
};

/// One chunk of layers of a stage.
struct Chunk {
  Pass forward, backward;
  Pass weights;  ///< only with a split backward, whose `backward` then has the rest
};

/// What a class of stages does.
struct StageWork {
  std::vector<Chunk> chunks;
  Items gradients_to_norms, context_reduce, reduce, gather;
  Item optimizer, end;
};

struct StagePart {
  std::shared_ptr<const StageWork> work;
  Fabric::Id shift = 0;
};

/// Messages over the boundary above a stage.
struct Boundary {
  std::shared_ptr<const Items> activation, gradient;
  Fabric::Id shift = 0;
};

/// Everything the program is made of.
struct StepParts {
  Job job;
  Strategy strategy;
  Profile profile;
  Schedule schedule;
  topology::ChipGraph graph;
  topology::RankOrder order;
  topology::Placement placement;
  Fabric fabric;
  LayerModel layer_model;
  int micro_batches;
  int stages;
  std::vector<StagePart> parts;
  std::vector<Boundary> boundaries;  ///< of stage s to s + 1; with chunks also of the last to the first
  Item message_launch;               ///< of a send or a receive that goes beside what a stage computes
  Item barrier;
  bool must_expand = false;

  StepParts(const Job& j, const Strategy& s, const Profile& p, const topology::ChipGraph& g,
            Schedule schedule);

  const StageWork& work(int stage) const { return *parts[static_cast<std::size_t>(stage)].work; }
  int chunks() const { return strategy.virtual_pipeline; }
  /// Messages occupy both their stages (1F1B), or go beside what they compute.
  bool blocking() const { return strategy.virtual_pipeline == 1 && schedule == Schedule::nxd; }
  bool overlaps() const { return strategy.context_parallel > 1; }
  /// How much longer work takes while a transfer runs beside it.
  double slowdown() const { return overlaps() ? profile[Parameter::overlap_slowdown] : 1; }
  /// All groups of a stage, also those off the representative nodes.
  StageGroups groups_of(int stage) const;
  /// Pairs of ranks that send over a boundary.
  Groups pairs_of(int boundary) const;

 private:
  void make_stages();
  void make_boundaries();
  void make_barrier();
  bool chains_share_with_others() const;
};

}  // namespace trnplan::models
