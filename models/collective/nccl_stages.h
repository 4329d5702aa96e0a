// Stages of NCCL's collectives: the sender, the receiver, the bytes, and the links and NICs that they use.
#pragma once

#include "models/collective/collective_algorithm.h"
#include "models/collective/nccl_tuning.h"

namespace trnplan::models::nccl {

/// The name of a set of latencies (SwitchedRuntime::latencies).
enum class Pace : int {
  ll,
  ll128,
  simple,
  tree_ll,
  tree_ll128,
  in_switch,
  in_switch_tree,
  logarithmic_tree,
  message,  ///< of one rank to another: no start of its own, the network step of Simple
  none      ///< no latency
};
/// Added to the pace of a ring whose ranks wait for those that send to another node. An all-reduce avoids
/// that wait by its trees, whose depth grows with the logarithm of the nodes.
inline constexpr int kWaitsForNetwork = 16;

/// The stages of an all-gather, reduce-scatter or all-reduce. Rings leave each node once per channel, each
/// through another NIC. A tree's first bytes go through the chain of a node and up and down the levels
/// between nodes; the rest follows in a pipeline, so that links and NICs work at the same time. Requires:
/// `way` is one that `tuning` lists.
[[nodiscard]] Description stages_of(const Tuning& tuning, Way way, CollectiveOp op, const GroupShape& shape,
                                    double bytes);

/// The stages of an all-to-all: each rank sends its part to every other rank in a message of its own.
[[nodiscard]] Description all_to_all(const Tuning& tuning, const GroupShape& shape, double bytes);

}  // namespace trnplan::models::nccl
