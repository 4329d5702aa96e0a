// Collectives on a cluster, in three forms: coflows for a simulation, single messages, or plain seconds.
//
// The stages come from models/collective/collective_algorithm.h. A stage of equal steps is a phase: one
// coflow (bytes per resource) after the latency of its steps. Phases run one after the other. Formulas:
// docs/models.md, "Collectives". Not modelled: pipelining of a hierarchical collective's stages, channels
// beyond one per NIC.
//
// Single messages give the same time to one tick per step, except for the flat ring between nodes. There
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

class ScaledLoads;

/// Equal steps of a collective on many groups at the same time.
struct Phase {
  Fabric::Load load;  ///< on the representatives of each node class
  double scale = 0;   ///< largest load of one group alone, by which flows share
  std::int64_t steps = 0;
  Seconds hops{};     ///< latency of the steps inside a node
  Seconds network{};  ///< latency of the steps between nodes

  Seconds latency() const { return hops + network; }
  struct Busiest {
    Seconds transfer{};
    Parameter parameter;
  };
  /// Time of the busiest resource alone: bytes / capacity; zero without load, infinite where bytes have no
  /// path. And the parameter that limits it.
  Busiest busiest(const Fabric& fabric) const;
  Seconds transfer(const Fabric& fabric) const { return busiest(fabric).transfer; }
  Parameter bottleneck(const Fabric& fabric) const { return busiest(fabric).parameter; }
};

/// The cost of one collective on many groups at the same time.
struct Collective {
  std::string algorithm;
  Seconds alpha{};  ///< fixed cost inside a graph
  std::vector<Phase> phases;

  Seconds latency() const;
  /// Sum of the phases' transfers.
  Seconds transfer(const Fabric& fabric) const;
  Seconds seconds(const Fabric& fabric) const { return latency() + transfer(fabric); }
};

/// `op` on every group at the same time. `bytes` is the gathered size for all-gather and reduce-scatter, and
/// the size per rank for the others. Groups should have equal shapes; where they differ, phases are added one
/// by one, each with the longest latency. Groups of one rank cost nothing. Cost: O(ranks of the groups +
/// relations of the stages); O(1) in the nodes that are alike.
Collective collective(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                      Bytes bytes, Algorithm algorithm = Algorithm::automatic);

/// The same with loads that are remembered.
Collective collective(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                      Bytes bytes, ScaledLoads& memory);

/// Time for which a collective in a graph of its own makes the nodes of its group wait for each other; zero
/// inside a node.
[[nodiscard]] Seconds barrier_of(const Fabric& fabric, bool between_nodes);

/// Seconds that nccom-test would print, for the collective in a graph of its own. Adds `host_launch` to every
/// run and `barrier` when the groups span nodes.
Seconds nccom_seconds(const Fabric& fabric, const Collective& c, bool between_nodes);

/// The same collective as one sim::Exchange per group, with every message on its own. Resources are those of
/// the fabric, which must be made with Placement::flat(). A member is a rank or, where an algorithm has
/// channels that do not wait for each other, a rank's part in one channel (channel * ranks + rank). `alpha`
/// is not included. Cost and memory: O(messages of one step of every stage). Throws std::invalid_argument
/// when a group's nodes hold different cores.
std::vector<sim::Exchange> expand(const Fabric& fabric, CollectiveOp op,
                                  const std::vector<std::vector<int>>& groups, Bytes bytes,
                                  Algorithm algorithm = Algorithm::automatic);

}  // namespace trnplan::models
