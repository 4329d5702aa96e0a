// By what NCCL chooses how a collective runs: an algorithm and a protocol, whichever its own model says ends first.
//
//   time = start + steps inside a node and between nodes, each with a latency + the busiest bytes / their rate
//
// The constants are those of NVIDIA/nccl@5067397c src/graph/tuning.cc and src/graph/topo.h; what a message between
// nodes takes besides is the instance's network_latency, once for LL and LL128 and twice for Simple. They decide
// only: how long the collective then takes goes by the profile (models/collective/switched_parameters.h) and the
// bytes that each resource carries. Not taken from there: the plateau of rings over several nodes, caps of rates
// by channel, CollNet, gathers and scatters in the switch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collective/collective_algorithm.h"
#include "topology/instance.h"

namespace trnplan::models::nccl {

enum class Method {
  ring,
  tree,             ///< two binary trees over the nodes, a chain inside each node
  in_switch,        ///< NVLS: the switch adds up what all members send and hands the sum to each
  in_switch_tree,   ///< NVLSTree: that inside the nodes, trees between them
  logarithmic_tree  ///< PAT: a tree of its own for every rank's part, where nodes have one rank each
};
enum class Protocol { ll, ll128, simple };

struct Way {
  Method method = Method::ring;
  Protocol protocol = Protocol::simple;
  bool operator==(const Way&) const = default;
};
/// "ring LL128", "tree", "nvls": the protocol is named unless it is Simple.
[[nodiscard]] std::string to_string(Way way);

/// A group on a machine, as the choice sees it.
class Tuning {
 public:
  /// `bytes` as of describe(). Keeps references to its arguments. Requires: two ranks or more.
  Tuning(const topology::Instance& instance, CollectiveOp op, const GroupShape& shape, double bytes);

  /// All that could run, rings first.
  [[nodiscard]] std::vector<Way> ways() const;
  /// The fastest by seconds(), of one method where one is asked for and can run.
  [[nodiscard]] Way best(std::optional<Method> asked) const;
  /// What the library takes it for.
  [[nodiscard]] double seconds(Way way) const;

  /// Of the full rate of a GPU's links, what a way can use.
  [[nodiscard]] double link_share(Way way) const;
  /// Of the full rate of the NICs.
  [[nodiscard]] double network_share(Way way) const;
  /// Bytes on the links of a GPU each way, and on the NICs of a node, without what the shares cost.
  [[nodiscard]] double link_bytes(Method method) const;
  [[nodiscard]] double network_bytes(Method method) const;

  /// Nodes' levels of a tree: log2 of the nodes, rounded up.
  [[nodiscard]] int levels() const { return levels_; }
  /// Seconds that the machine's network adds to a step between nodes.
  [[nodiscard]] double network_latency(Way way) const;

 private:
  [[nodiscard]] double tree_share(Protocol protocol) const;

  const topology::Instance& instance_;
  CollectiveOp op_;
  const GroupShape& shape_;
  double bytes_;
  double link_, network_;  ///< bytes/s of a GPU's links and of the group's NICs of a node; 0: none
  int levels_;
};

}  // namespace trnplan::models::nccl
