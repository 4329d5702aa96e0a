// Which groups of ranks each pipeline stage has, on which resources. Internal to the step model.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "models/collective/fabric.h"
#include "models/operators/operators.h"
#include "topology/placement.h"
#include "topology/rank_order.h"

namespace trnplan::models {

using Groups = std::vector<std::vector<int>>;

/// Groups of one stage, by what runs on them.
struct StageGroups {
  Groups tensor, kv, context, expert;
  Groups data;           ///< over which ZeRO-1 shards: DP x CP
  Groups replicas;       ///< DP alone: plain data parallel after context ranks have added up
  Groups expert_data;    ///< as data for expert weights: DP x CP / EP
  Groups shard, copies;  ///< of weights that are gathered unit by unit
  const Groups& of(ProcessGroup process_group) const;
};

/// Every kind of groups, in the order of the members: one that is added does not compile until it stands
/// here.
template <class Of>  // StageGroups, const or not
auto all_groups(Of& of) {
  auto& [tensor, kv, context, expert, data, replicas, expert_data, shard, copies] = of;
  return std::array{&tensor, &kv, &context, &expert, &data, &replicas, &expert_data, &shard, &copies};
}

/// The way of an activation from one part of the model to the next: over the boundary above stage `boundary`, up or
/// down. Gradients go the other way.
struct Link {
  int boundary = 0;
  bool up = true;
};
/// From this part; absent where one stage holds both, and beyond the ends.
std::optional<Link> link_above(const Strategy& s, int part);

/// Ranks, nodes and resources of a strategy: what does not depend on micro-batch, recomputation or cuts.
struct StepLayout {
  Job job;
  Strategy strategy;
  Profile profile;
  topology::ChipGraph graph;
  topology::RankOrder order;
  topology::Placement placement;
  Fabric fabric;
  int stages;

  /// Throws std::invalid_argument when the rank order cannot be formed. Cost: O(cores).
  StepLayout(const Job& j, const Strategy& s, const Profile& p, const topology::ChipGraph& g,
             CollectiveMemory* memory = nullptr);
  StepLayout(const StepLayout&) = delete;
  StepLayout& operator=(const StepLayout&) = delete;

  /// All groups of a stage, also those off the representative nodes.
  StageGroups groups_of(int stage) const;
  /// Those that touch a representative node; the others do the same elsewhere.
  void keep_representative(Groups& groups) const;
  StageGroups representative(int stage) const;
  /// Pairs of ranks that send over a boundary.
  Groups pairs_of(int boundary) const;
  /// Of boundaries over which messages go: of stage s to s + 1; where chunks make a loop also of the last to the first.
  int boundary_count() const;
  /// Node class of a stage's first rank.
  int class_of(int stage) const { return placement.class_of_rank(order.rank(stage, 0, 0, 0)); }
  /// Groups without their place among the nodes: node classes counted from `cls`, local cores as they are.
  /// Equal keys, equal loads but for a shift.
  void add_key(std::vector<int>& key, const Groups& groups, int cls) const;
};

}  // namespace trnplan::models
