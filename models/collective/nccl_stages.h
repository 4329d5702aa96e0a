// NCCL's ways of running a collective as stages: who sends how much to whom, over which links and NICs.
#pragma once

#include "models/collective/collective_algorithm.h"
#include "models/collective/nccl_tuning.h"

namespace trnplan::models::nccl {

/// What names a set of latencies (SwitchedRuntime::latencies).
enum class Pace : int {
  ll,
  ll128,
  simple,
  tree_ll,
  tree_ll128,
  in_switch,
  in_switch_tree,
  logarithmic_tree,
  message,  ///< of one rank to another: no protocol's own start, the network's step of Simple
  none      ///< waits for nothing
};
/// Added to the pace of a ring whose ranks wait for those that send to another node. An all-reduce has its trees
/// against that, whose depth grows with the logarithm of the nodes.
inline constexpr int kWaitsForNetwork = 16;

/// The stages of an all-gather, reduce-scatter or all-reduce. Rings leave each node once per channel, through another
/// NIC each. A tree's first bytes go through the chain of a node and up and down the levels between nodes; the rest
/// follows in a pipeline, so that links and NICs work at the same time. Requires: a way that Tuning::ways() lists.
[[nodiscard]] Description stages_of(const Tuning& tuning, Way way, CollectiveOp op, const GroupShape& shape,
                                    double bytes);

/// Each rank's part goes to every other by a message of its own.
[[nodiscard]] Description all_to_all(const Tuning& tuning, const GroupShape& shape, double bytes);

}  // namespace trnplan::models::nccl
