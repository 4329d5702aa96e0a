// The groups of ranks of each pipeline stage, and their resources. Internal to the step model.
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

/// The groups of one stage, by use.
struct StageGroups {
  Groups tensor, kv, context, expert;
  Groups data;           ///< ranks that shard for ZeRO-1: DP x CP
  Groups replicas;       ///< DP only: plain data parallel after the reduction over context ranks
  Groups expert_data;    ///< like `data`, for expert weights: DP x CP x TP / EP / ETP
  Groups shard, copies;  ///< of weights that are gathered unit by unit
  const Groups& of(ProcessGroup process_group) const;
};

/// Every kind of groups, in the order of the members. A new member does not compile until it is added here.
template <class Of>  // StageGroups, const or not
auto all_groups(Of& of) {
  auto& [tensor, kv, context, expert, data, replicas, expert_data, shard, copies] = of;
  return std::array{&tensor, &kv, &context, &expert, &data, &replicas, &expert_data, &shard, &copies};
}

/// The path of an activation from one part of the model to the next: over the boundary above stage
/// `boundary`, up or down. Gradients go in the other direction.
struct Link {
  int boundary = 0;
  bool up = true;
};
/// The link above a part; absent where one stage holds both parts, and beyond the ends.
std::optional<Link> link_above(const Strategy& s, int part);

/// Ranks, nodes and resources of a strategy, independent of micro-batch, recomputation and cuts.
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

  /// All groups of a stage, also those outside the representative nodes.
  StageGroups groups_of(int stage) const;
  /// The groups of a stage that touch a representative node; the others do the same elsewhere.
  StageGroups representative(int stage) const;
  /// Pairs of ranks that send over a boundary.
  Groups pairs_of(int boundary) const;
  /// Those that touch a representative node.
  Groups representative_pairs(int boundary) const;
  /// Number of boundaries that messages cross: of stage s to s + 1; where chunks form a loop, also of the
  /// last to the first.
  int boundary_count() const;
  /// True if stages hold whole nodes: groups of each are then those of the first, shifted, with equal keys, and so are
  /// pairs over boundaries but the one from the last stage to the first.
  bool stages_are_shifted() const;
  /// Node class of a stage's first rank.
  int class_of(int stage) const { return placement.class_of_rank(order.rank(stage, 0, 0, 0)); }
  /// Adds a key of groups without their position among the nodes: node classes counted from `cls`, and local
  /// cores. Groups with equal keys have equal loads, up to a shift.
  void add_key(std::vector<int>& key, const Groups& groups, int cls) const;

 private:
  /// Groups of which some rank is wanted.
  template <class Wanted>
  StageGroups groups_of(int stage, const Wanted& wanted) const;
  template <class Wanted>
  Groups pairs_of(int boundary, const Wanted& wanted) const;
  bool touches_representative(const std::vector<int>& group) const;
};

}  // namespace trnplan::models
