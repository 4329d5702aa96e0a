// The place of each rank: NxD's order of ranks, and the replica groups that follow from it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topology/instance.h"
#include "units/product.h"

namespace trnplan::topology {

/// Parallel degrees; their product is the number of ranks (cores).
struct Degrees {
  int tensor = 1;
  int context = 1;
  int data = 1;
  int pipeline = 1;

  /// Number of ranks; saturates.
  std::int64_t world() const { return saturating_product({tensor, context, data, pipeline}); }
  bool operator==(const Degrees&) const = default;
};

enum class GroupKind { tensor, pipeline, data, context, kv_replicas };
/// "tp", "pp", "dp", "cp" or "kv".
std::string_view to_string(GroupKind kind);

struct RankRule;

/// The bijection between ranks and coordinates (pipeline, data, context, tensor).
///
/// The order is row-major [PP, DP, CP, TP], TP fastest, with two exceptions (Traits::rank_order):
///  columns_of_four  (trn1) TP 4 takes strided ranks: 0, 8, 16, 24 of a node, a torus column on
///                   trn1.32xlarge. DP*CP must be a multiple of cores/4 per pipeline stage.
///  half_instances   (trn2, "LOGIC2") TP of half an instance (LNC 2: 32, LNC 1: 64) on at least one whole
///                   instance. The first TP group of an instance is its first and last quarter of ranks, the
///                   second the two between: torus rows 0 and 3, 1 and 2. With contiguous groups "0 and 32
///                   cant communicate directly", two hops apart.
/// The other groups follow by position. Another rule is a RankRule in rank_order.cpp and its name in Traits.
/// Source: aws-neuron/neuronx-distributed@fbac349b,
/// src/neuronx_distributed/parallel_layers/parallel_state.py:177-371.
class RankOrder {
 public:
  /// Throws std::invalid_argument when degrees are not positive, when their product is not the number of the
  /// cluster's cores, or when they need the TP 4 column order where it cannot be formed; obstacle() gives the
  /// reason without throwing.
  RankOrder(const Cluster& cluster, Degrees degrees);

  /// The reason why the order cannot be formed, or "" when it can.
  static std::string obstacle(const Cluster& cluster, Degrees degrees);

  const Degrees& degrees() const { return degrees_; }
  /// True if the TP 4 column order applies.
  bool column_order() const;
  /// True if the order of half instances (LOGIC2) applies.
  bool half_order() const;
  int rank(int pipeline, int data, int context, int tensor) const;
  /// Pipeline stage of a rank. O(1).
  int stage_of(int rank) const;

  /// All groups of a kind, in the order of their first coordinate. A kind of degree 1 has no groups. Pipeline
  /// groups are the pairs in which NxD sends and receives: (s, s+1) and, for more than two stages, the
  /// closing pair (last, 0); aws-neuron/neuronx-distributed, src/neuronx_distributed/pipeline/comm.py.
  std::vector<std::vector<int>> groups(GroupKind kind) const;
  /// The first of all groups that differ only by a shift of whole nodes of `cores` ranks, in the same order.
  /// A few may be alike. Cost: that of the groups returned, at most those of a few nodes.
  std::vector<std::vector<int>> distinct_groups(GroupKind kind, int cores) const;

  /// Ranks that hold copies of the same KV heads when each head is replicated `replicas` times: ranks j, j +
  /// T/r, j + 2T/r, ... of each tensor-parallel group, or r adjacent ones if Traits::adjacent_kv_copies is
  /// set (trn2; parallel_state.py:1605-1645). Empty for one replica. Throws std::invalid_argument when
  /// `replicas` does not divide TP.
  std::vector<std::vector<int>> kv_groups(int replicas) const;
  /// False if kv_groups() throws.
  bool has_kv_groups(int replicas) const { return replicas < 2 || degrees_.tensor % replicas == 0; }
  /// The same groups of some tensor-parallel groups, and of one.
  std::vector<std::vector<int>> kv_groups_in(const std::vector<std::vector<int>>& tensor_groups,
                                             int replicas) const;
  std::vector<std::vector<int>> kv_groups_of(const std::vector<int>& tensor_group, int replicas) const;

 private:
  std::vector<std::vector<int>> groups_within(GroupKind kind, int period) const;

  Degrees degrees_;
  const RankRule* rule_;  ///< never null
  int extent_ = 0;        ///< distance by which the rule moves ranks; 0: row-major
  bool adjacent_copies_ = false;
};

}  // namespace trnplan::topology
