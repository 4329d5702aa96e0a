// Collectives on a cluster: as coflows for a simulation, message by message, or as plain seconds.
//
// The stages come from models/collective/collective_algorithm.h. A stage of equal steps is a phase: one
// coflow (bytes per resource) after the latency of its steps. Phases run one after the other. Formulas:
// docs/models.md, "Collectives". Not modelled: pipelining of a hierarchical collective's stages, channels
// beyond one per NIC.
//
// Message by message the time is the same to a tick a step, but for the flat ring between nodes: there
// chunks in flight overlap the transfers of others, and the coflow is longer by at most that flight, the
// (efa_latency - hop_latency) of the k links between k nodes.
#pragma once

#include <string>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "models/collective/fabric.h"

namespace trnplan::sim {
struct Exchange;
}

namespace trnplan::models {

/// Equal steps of a collective on many groups at once.
struct Phase {
  Fabric::Load load;  ///< on the representatives of each node class
  double scale = 0;   ///< largest load of one group alone: what sharing between flows goes by
  std::int64_t steps = 0;
  Seconds hops{};     ///< latency of the steps inside a node
  Seconds network{};  ///< latency of the steps between nodes

  Seconds latency() const { return hops + network; }
  /// The busiest resource's time, alone: bytes / capacity; zero without load, infinite where there is no way.
  Seconds transfer(const Fabric& fabric) const;
  /// What limits transfer().
  Parameter bottleneck(const Fabric& fabric) const;
};

/// What the same collective on many groups at once costs.
struct Collective {
  std::string algorithm;
  Seconds alpha{};  ///< fixed cost inside a graph
  std::vector<Phase> phases;

  Seconds latency() const;
  /// The phases' transfers, one after the other.
  Seconds transfer(const Fabric& fabric) const;
  Seconds seconds(const Fabric& fabric) const { return latency() + transfer(fabric); }
};

/// `op` on every group at the same time. `bytes`: gathered size for all-gather and reduce-scatter, size per
/// rank for the others. Groups should have equal shape (where they differ, phases are added one by one, each
/// with the longest latency); groups of one rank cost nothing. Cost: O(ranks of the groups + relations of the
/// stages); O(1) in the nodes that are alike.
Collective collective(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                      Bytes bytes, Algorithm algorithm = Algorithm::automatic);

/// What a collective in a graph of its own makes the nodes of its group wait for each other; none inside a
/// node.
[[nodiscard]] Seconds barrier_of(const Fabric& fabric, bool between_nodes);

/// What nccom-test would print: the collective in a graph of its own. Adds `host_launch` to every run and
/// `barrier` when the groups span nodes.
Seconds nccom_seconds(const Fabric& fabric, const Collective& c, bool between_nodes);

/// The same collective, one sim::Exchange per group with every message of its own; resources are those of the
/// fabric, which must have been made with Placement::flat(). A member is a rank, or where an algorithm has
/// channels that do not wait for each other, a rank's part in one (channel * ranks + rank). `alpha` is not
/// part of it. Cost and memory: O(messages of one step of every stage). Throws std::invalid_argument when a
/// group's nodes hold different cores.
std::vector<sim::Exchange> expand(const Fabric& fabric, CollectiveOp op,
                                  const std::vector<std::vector<int>>& groups, Bytes bytes,
                                  Algorithm algorithm = Algorithm::automatic);

}  // namespace trnplan::models
