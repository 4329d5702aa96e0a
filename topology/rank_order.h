// Which rank sits where: NxD's order of ranks, and the replica groups that follow from it.
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
/// "tp", "pp", "dp", "cp", "kv".
std::string_view to_string(GroupKind kind);

/// The bijection between ranks and coordinates (pipeline, data, context, tensor).
///
/// Row-major [PP, DP, CP, TP], TP fastest. Exception on trn1: TP 4 takes strided ranks (0, 8, 16, 24 of a
/// node: a torus column on trn1.32xlarge), so that DP*CP must be a multiple of cores/4 per pipeline stage.
/// Source: aws-neuron/neuronx-distributed, src/neuronx_distributed/parallel_layers/parallel_state.py.
class RankOrder {
 public:
  /// Throws std::invalid_argument when degrees are not positive, do not multiply to the cluster's cores, or
  /// need the TP 4 column order where it cannot be formed; obstacle() says so without throwing.
  RankOrder(const Cluster& cluster, Degrees degrees);

  /// Why the order cannot be formed, or "" when it can.
  static std::string obstacle(const Cluster& cluster, Degrees degrees);

  const Degrees& degrees() const { return degrees_; }
  /// True when the TP 4 column order is in force.
  bool column_order() const { return columns_ > 0; }
  int rank(int pipeline, int data, int context, int tensor) const;
  /// Pipeline stage of a rank. O(1).
  int stage_of(int rank) const;

  /// All groups of a kind, in the order of their first coordinate. A kind of degree 1 has no groups. Pipeline
  /// groups are the pairs in which NxD sends and receives: (s, s+1) and, for more than two stages, the
  /// closing pair (last, 0); aws-neuron/neuronx-distributed, src/neuronx_distributed/pipeline/comm.py.
  std::vector<std::vector<int>> groups(GroupKind kind) const;

  /// Ranks that hold copies of the same KV heads when each is replicated `replicas` times. trn1: ranks j, j +
  /// T/r, j + 2T/r, ... of each tensor-parallel group (parallel_state.py). None for one replica. Throws
  /// std::invalid_argument when `replicas` does not divide TP.
  std::vector<std::vector<int>> kv_groups(int replicas) const;

 private:
  Degrees degrees_;
  int columns_ = 0;  ///< cores per node / 4 in the column order, else 0
};

}  // namespace trnplan::topology
