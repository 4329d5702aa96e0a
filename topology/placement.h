// The pipeline stage of each core, and the nodes that are alike.
#pragma once

#include <vector>

#include "topology/instance.h"
#include "topology/rank_order.h"

namespace trnplan::topology {

/// Nodes grouped into classes. Two nodes are alike when the same local core holds the same pipeline stage on
/// both. Data-parallel replicas are alike, so all nodes of a class do the same at the same time and one
/// representative is enough. Cost: O(ranks).
class Placement {
 public:
  Placement(const Cluster& cluster, const RankOrder& order);
  /// Nodes with equal numbers are alike. The numbers count from 0, each after those before it.
  Placement(const Cluster& cluster, std::vector<int> class_of_node);
  /// A placement with one class: every node does the same.
  static Placement uniform(const Cluster& cluster);
  /// A placement with a class for each node, for simulations that leave out no node.
  static Placement flat(const Cluster& cluster);

  int node_of(int rank) const { return rank / cores_; }
  int local_of(int rank) const { return rank % cores_; }
  int classes() const { return static_cast<int>(representatives_.size()); }
  int class_of_node(int node) const { return class_of_node_[static_cast<std::size_t>(node)]; }
  int class_of_rank(int rank) const { return class_of_node(node_of(rank)); }
  /// The first node of a class.
  int representative(int cls) const { return representatives_[static_cast<std::size_t>(cls)]; }
  /// True for ranks on the first node of their class.
  bool represents(int rank) const { return representative(class_of_rank(rank)) == node_of(rank); }

 private:
  explicit Placement(const Cluster& cluster) : cores_(cluster.instance.cores()) {}

  int cores_;
  std::vector<int> class_of_node_;
  std::vector<int> representatives_;
};

}  // namespace trnplan::topology
