// Conditions of a step on a machine that is not ideal.
//
// Network of a node. `network` is the share of the rate of each of its NICs that is left. A NIC that is dead
// from the start of a job counts as that, since the libraries spread the traffic over the others: NCCL takes
// for all ranks the fewest channels and the least bandwidth that any of them found, so the node paces every
// collective that crosses it (NVIDIA/nccl@5067397c:src/init.cc, the minima of graphInfo), and the EFA plugin
// groups the devices it finds, however many (aws/aws-ofi-nccl@2daf7d30:src/nccl_ofi_topo.cpp,
// create_groups_from_info_list). A NIC that dies during a run ends the communicator, and the job with it:
// failover is off unless asked for (NVIDIA/nccl@5067397c:src/transport/net_ib/p2p_resiliency.cc), and the EFA
// plugin has none. One device of several that serve one GPU together is refused by the plugin when ranks
// connect (aws/aws-ofi-nccl@2daf7d30:src/nccl_ofi_rdma.cpp, "Unexpected number of remote rails"). How
// Neuron's runtime starts without a device is not published; there a share stands for slower devices only.
// Not modelled: another choice of algorithm because of the lost bandwidth.
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

#include "units/quantity.h"

namespace trnplan::models {

/// Cores of consecutive ranks whose work takes `factor` times as long; collectives take as long as ever.
struct SlowCores {
  int first = 0, count = 1;
  double factor = 1;
};

/// The state of a node, besides that of its cores.
struct NodeState {
  double network = 1;  ///< share of the rate of its NICs that is left
  double links = 1;    ///< share of the rate of its links between chips that is left
  Seconds late{};      ///< by which all its queues start later

  auto operator<=>(const NodeState&) const = default;
};
struct StatedNode {
  int node = 0;
  NodeState state;
};

/// Random times. On each core each pass, the update of the weights and each message between stages takes
/// exp(log_sd z) times as long, with z standard normal: the median is 1. Collectives take as long as ever once
/// all have come; those within a pass make it as long as on the slowest of its cores.
struct RandomTimes {
  double log_sd = 0;
  int runs = 100;          ///< steps that are simulated
  std::uint64_t seed = 1;  ///< of the random numbers
};

/// Steps of runs with random times.
struct RunsOfStep {
  int runs = 0;
  std::uint64_t seed = 0;
  int median = 0;         ///< number of the run in the middle, by nearest rank
  Seconds low{}, high{};  ///< 5th and 95th percentile, by nearest rank
};

struct Scenario {
  std::vector<SlowCores> slow;
  std::vector<StatedNode> nodes;
  double spine = 1;  ///< share of the network between nodes that is left for the job: 1 / oversubscription
  RandomTimes random;

  [[nodiscard]] bool is_random() const { return random.log_sd > 0; }

  [[nodiscard]] bool is_ideal() const;
  /// True if all links and NICs have their usual rates.
  [[nodiscard]] bool has_usual_network() const;
  /// Factor of a core: the product of all that it is among. Cost: O(slow).
  [[nodiscard]] double factor(int rank) const;
  /// State of a node: shares multiply, delays add. Cost: O(nodes stated).
  [[nodiscard]] NodeState state(int node) const;
};

/// The work of the cores of one pipeline stage that have one factor.
struct CoreWork {
  int stage = 0;
  double factor = 1;
  int cores = 0;
  Seconds work{};  ///< of one core in one step, without collectives, messages and waiting
};

/// The work of the busiest cores of a stage; 0 without any.
[[nodiscard]] Seconds most_work(const std::vector<CoreWork>& work, int stage);

}  // namespace trnplan::models
