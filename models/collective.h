// Collectives as coflows on the links, DMA engines and NICs of a cluster.
//
// Formulas, per group of n nodes with L ranks on C chips each, N = n*L ranks (docs/models.md, "Collectives"):
//   all-gather of G bytes (gathered size)   inter-node: each rank gathers G/L over n nodes, (n-1)/n * G/L
//   through its NIC
//                                           intra-node: (C-1)/C * G circulates, split over the rings of the C
//                                           chips and the two directions of each; then latency
//   reduce-scatter                          the same backwards
//   all-reduce of S bytes                   reduce-scatter and all-gather of S
//   send/recv of M bytes                    NxD runs it as an all-gather over the pair: M bytes both ways
// DMA: HBM accesses per byte that circulates, for the two ranks of a chip together 4 (all-gather) and 6
// (reduce-scatter) by ring, 3 and 4 by KangaRing, which needs every core of a chip in the group; half of that
// per core. Sources: aws-neuron/aws-neuron-sdk@81ce03ae neuron-runtime/explore/intranode-collective-comm.rst
// and internode-collective-comm.rst (algorithms, access counts, hierarchy, size ranges: AWS's empirical
// values for 64 ranks of trn2, taken over for trn1); aws-neuron/neuronx-distributed
// src/neuronx_distributed/pipeline/comm.py (send/recv). Not modelled: HBM contention with compute, channel
// limits, trn1's flat ring across nodes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/profile.h"
#include "sim/program.h"
#include "topology/chip_graph.h"
#include "topology/instance.h"
#include "topology/placement.h"

namespace trnplan::models {

/// The capacity-bearing parts of a cluster, one node per class (topology/placement.h), made as they are used.
class Fabric {
 public:
  Fabric(const topology::Cluster& cluster, const topology::ChipGraph& graph,
         const topology::Placement& placement, const Profile& profile);

  const topology::Cluster& cluster() const { return *cluster_; }
  const topology::ChipGraph& graph() const { return *graph_; }
  const topology::Placement& placement() const { return *placement_; }
  const Profile& profile() const { return *profile_; }

  enum class Kind { link, dma, nic_out, nic_in };
  /// A resource by what it is: link (class, from chip, to chip), dma (class, core, 0), NIC (class, nic, 0).
  struct Key {
    Kind kind;
    int cls, a, b;
    auto operator<=>(const Key&) const = default;
  };
  /// Bytes per resource.
  using Load = std::map<Key, double>;

  BytesPerSecond capacity(const Key& key) const;
  /// The parameter that scales the capacity of a kind of resource.
  static Parameter parameter_of(Kind kind);
  static std::string name(const Key& key);

  /// Rings of a set of chips (one or two, edge-disjoint); empty when there is none. Remembered.
  const std::vector<std::vector<int>>& rings(const std::vector<int>& chips) const;

 private:
  const topology::Cluster* cluster_;
  const topology::ChipGraph* graph_;
  const topology::Placement* placement_;
  const Profile* profile_;
  mutable std::map<std::vector<int>, std::vector<std::vector<int>>> rings_;
};

enum class CollectiveOp { all_gather, reduce_scatter, all_reduce, send_recv };

/// What the same collective on many groups at once costs.
struct Collective {
  Fabric::Load load;  ///< on the representatives of each node class
  Seconds alpha{};    ///< fixed cost inside a graph
  Seconds hops{};     ///< latency of NeuronLink hops
  Seconds network{};  ///< latency of EFA messages

  Seconds latency() const { return alpha + hops + network; }
  /// The busiest resource's time, alone: bytes / capacity; zero without load.
  Seconds transfer(const Fabric& fabric) const;
  /// What limits transfer().
  Parameter bottleneck(const Fabric& fabric) const;
};

/// `op` on every group at the same time. `bytes`: gathered size for all-gather and reduce-scatter, size per
/// rank for all-reduce and send_recv. Groups must have equal shape; groups of one rank cost nothing. Cost:
/// O(ranks of the groups on representative nodes).
Collective collective(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                      Bytes bytes);

}  // namespace trnplan::models
