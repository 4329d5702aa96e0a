// NCCL's choice of an algorithm and a protocol for a collective: the pair that its own model predicts to end
// first.
//
//   time = start + steps inside a node and between nodes, each with a latency
//          + the busiest bytes / their rate
//
// The constants are those of NVIDIA/nccl@5067397c src/graph/tuning.cc and src/graph/topo.h. A message between
// nodes also takes the instance's network_latency, once for LL and LL128 and twice for Simple. The constants
// only decide: the time that the collective then takes follows from the profile
// (models/collective/switched_parameters.h) and the bytes on each resource. Left out: the plateau of rings
// over several nodes, caps of rates by channel, CollNet, gathers and scatters in the switch.
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
  in_switch,        ///< NVLS: the switch adds up the data of all members and sends each the sum
  in_switch_tree,   ///< NVLSTree: NVLS inside the nodes, trees between them
  logarithmic_tree  ///< PAT: a tree for every rank's part, where nodes have one rank each
};
enum class Protocol { ll, ll128, simple };

struct Way {
  Method method = Method::ring;
  Protocol protocol = Protocol::simple;
  bool operator==(const Way&) const = default;
};
/// The name: "ring LL128", "tree", "nvls". It includes the protocol unless that is Simple.
[[nodiscard]] std::string to_string(Way way);

/// A group on a machine, with the numbers that the choice depends on.
class Tuning {
 public:
  /// `bytes` is that of describe(). Keeps references to its arguments. Requires: two ranks or more.
  Tuning(const topology::Instance& instance, CollectiveOp op, const GroupShape& shape, double bytes);

  /// All combinations that could run, rings first.
  [[nodiscard]] std::vector<Way> ways() const;
  /// The fastest by seconds(); only those of one method where one is requested and can run.
  [[nodiscard]] Way best(std::optional<Method> asked) const;
  /// Time by the library's own model.
  [[nodiscard]] double seconds(Way way) const;

  /// Share of the full rate of a GPU's links that the combination can use.
  [[nodiscard]] double link_share(Way way) const;
  /// Share of the full rate of the NICs that it can use.
  [[nodiscard]] double network_share(Way way) const;
  /// Bytes on the links of a GPU in each direction, and on the NICs of a node, before the shares are applied.
  [[nodiscard]] double link_bytes(Method method) const;
  [[nodiscard]] double network_bytes(Method method) const;

  /// Levels of a tree over the nodes: log2 of the nodes, rounded up.
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
