// The parts of a cluster that have a capacity, as resources that a simulation shares out.
//
// One node of each class stands for all nodes of the class (topology/placement.h). Per class, in this order:
//   link        one direction of a chip-to-chip (or chip-to-switch) link; both cores of a chip share it
//   memory      rate at which a core's collectives read and write memory (Device::message_memory)
//   nic_out/in  one EFA device, one direction, shared by the cores of its chips
//   spine_out/in  the node's share of the network between nodes; only where that is oversubscribed
// One more, `unreachable`, has no capacity: bytes between chips or nodes that nothing joins take forever.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/device/device.h"
#include "models/parameters/profile.h"
#include "topology/chip_graph.h"
#include "topology/instance.h"
#include "topology/nics.h"
#include "topology/placement.h"

namespace trnplan::models {

class CollectiveMemory;
class CollectiveRuntime;

/// The resources of a cluster. Threads: one thread per Fabric, also for its const members, because it
/// remembers paths and rings. The graph and the placement may be shared. Errors: an exception leaves the
/// remembered data unchanged.
class Fabric {
 public:
  /// Shares of the usual rates that nodes of a class have.
  struct Shares {
    double links = 1, nics = 1;
  };

  /// Keeps references to its arguments but `of_class`. Cost: O(links + cores). collective() remembers loads in
  /// `memory`, which may be null (models/collective/collective_memory.h). `of_class` has the shares of each
  /// class; empty: all of them 1.
  Fabric(const topology::Cluster& cluster, const topology::ChipGraph& graph,
         const topology::Placement& placement, const Profile& profile, CollectiveMemory* memory = nullptr,
         const std::vector<Shares>& of_class = {});

  const topology::Cluster& cluster() const { return *cluster_; }
  const topology::ChipGraph& graph() const { return *graph_; }
  const topology::Placement& placement() const { return *placement_; }
  const Profile& profile() const { return *profile_; }
  const CollectiveRuntime& runtime() const { return *runtime_; }
  CollectiveMemory* memory() const { return memory_; }

  enum class Kind { link, memory, nic_out, nic_in, spine_out, spine_in, unreachable };
  using Id = std::uint32_t;
  /// Bytes per resource, ascending by id.
  using Load = std::vector<std::pair<Id, double>>;

  Id unreachable() const { return per_class_ * static_cast<Id>(placement_->classes()); }
  /// Offset of the ids of a class: the id of a resource of class `cls` minus that of the same resource of
  /// class 0.
  Id shift_of(int cls) const { return base(cls); }
  /// Number of resources, `unreachable` included.
  Id size() const { return unreachable() + 1; }
  Kind kind(Id id) const;
  BytesPerSecond capacity(Id id) const {
    return id == unreachable() ? BytesPerSecond{} : capacities_[id % capacities_.size()];
  }
  /// The parameter that scales the capacity.
  Parameter parameter(Id id) const;
  std::string name(Id id) const;
  /// Capacities in bytes/s by id, without `unreachable`.
  std::vector<double> capacities() const;

  /// The direction of a link from one chip (or switch) to a neighbour; size() when no link joins the two.
  Id link(int cls, int from, int to) const;
  Id memory(int cls, int core) const { return base(cls) + first_memory_ + static_cast<Id>(core); }
  /// NIC of a core's chip. Requires: the instance has NICs.
  Id nic(int cls, int core, Kind direction) const;
  bool has_spine() const { return topology::oversubscription_of(*cluster_) > 1; }
  Id spine(int cls, Kind direction) const;

  /// A directed link of the node and the part of a message that takes it.
  struct Leg {
    int from = 0, to = 0;
    double part = 1;
  };
  /// One shortest path.
  std::vector<Leg> route(int chip_a, int chip_b) const;
  /// All shortest paths; the message is split evenly wherever they part. Remembered.
  const std::vector<Leg>& spread(int chip_a, int chip_b) const;
  /// Edge-disjoint rings of a set of chips (one or two); empty when there is none. Remembered.
  const std::vector<std::vector<int>>& rings(const std::vector<int>& chips) const;
  /// Each ring in both directions; without a ring (the runtime refuses such a group) the chips in the given
  /// order.
  std::vector<std::vector<int>> directions(const std::vector<int>& chips) const;
  /// One order of the chips per channel of a flat ring, each along one of directions(): the last chip sends
  /// to the first one of the next node. There are as many channels as NICs. Each ring is turned so that every
  /// NIC sends and receives for as few channels as possible. Remembered.
  const std::vector<std::vector<int>>& channels(const std::vector<int>& chips) const;
  /// The chips in an order in which places that differ in one bit are neighbours, or in the given order when
  /// there is none. Remembered. The 4x4 torus is such a 4-D hypercube.
  const std::vector<int>& hypercube(const std::vector<int>& chips) const;

 private:
  Id base(int cls) const { return per_class_ * static_cast<Id>(cls); }
  BytesPerSecond rate_of(Id local) const;
  void give_shares(const std::vector<Shares>& of_class);

  const topology::Cluster* cluster_;
  const topology::ChipGraph* graph_;
  const topology::Placement* placement_;
  const Profile* profile_;
  const CollectiveRuntime* runtime_;
  CollectiveMemory* memory_;
  Rate memory_rate_;  ///< of each core's memory
  Id first_memory_, first_nic_, first_spine_, per_class_;
  std::vector<std::vector<std::pair<int, Id>>> links_from_;  ///< chip or switch -> (neighbour, link)
  std::vector<std::pair<int, int>> link_ends_;
  std::vector<BytesPerSecond> link_rates_;
  std::vector<BytesPerSecond> capacities_;  ///< of a class, or of all of them where these have shares
  mutable std::map<std::pair<int, int>, std::vector<Leg>> spreads_;
  mutable std::map<std::vector<int>, std::vector<std::vector<int>>> rings_, channels_;
  mutable std::map<std::vector<int>, std::vector<int>> hypercubes_;
};

}  // namespace trnplan::models
