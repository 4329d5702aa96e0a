#include "models/collective/collective_algorithm.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "models/collective/collective_runtime.h"
#include "units/index.h"

namespace trnplan::models {

std::string_view to_string(CollectiveOp op) {
  constexpr std::string_view kNames[] = {"all_gather", "reduce_scatter", "all_reduce",
                                         "all_to_all", "permute",        "send_recv"};
  return kNames[static_cast<std::size_t>(op)];
}

std::optional<CollectiveOp> collective_op(std::string_view name) {
  constexpr std::pair<std::string_view, CollectiveOp> kShort[] = {
      {"allr", CollectiveOp::all_reduce},       {"allreduce", CollectiveOp::all_reduce},
      {"allg", CollectiveOp::all_gather},       {"allgather", CollectiveOp::all_gather},
      {"redsct", CollectiveOp::reduce_scatter}, {"alltoall", CollectiveOp::all_to_all},
      {"sendrecv", CollectiveOp::send_recv},    {"sendrcv", CollectiveOp::send_recv},
  };
  for (int op = 0; op <= static_cast<int>(CollectiveOp::send_recv); ++op) {
    if (name == to_string(static_cast<CollectiveOp>(op))) return static_cast<CollectiveOp>(op);
  }
  for (const auto& [text, op] : kShort) {
    if (name == text) return op;
  }
  return std::nullopt;
}

GroupShape shape_of(const topology::Cluster& cluster, const std::vector<int>& ranks) {
  GroupShape shape;
  const topology::Instance& instance = cluster.instance;
  const int cores = instance.cores();
  // Nodes mostly ascend. Where one follows a later one, the set tells whether it is new.
  std::unordered_set<int> seen;
  std::size_t noted = 0;  // nodes in the set
  int last = -1, most = -1;
  for (const int r : ranks) {
    const int node = r / cores;
    if (node > most) {
      shape.nodes.push_back(node);
      most = node;
    } else if (node != last) {
      for (; noted < shape.nodes.size(); ++noted) seen.insert(shape.nodes[noted]);
      if (!seen.contains(node)) shape.nodes.push_back(node);
    }
    last = node;
    if (node == shape.nodes.front()) shape.cores.push_back(r % cores);
  }
  std::sort(shape.cores.begin(), shape.cores.end());
  for (const int c : shape.cores) {
    if (shape.chips.empty() || shape.chips.back() != instance.chip_of(c)) {
      shape.chips.push_back(instance.chip_of(c));
    }
  }
  shape.whole_chips = shape.cores.size() == shape.chips.size() * at(instance.cores_per_chip);
  return shape;
}

Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                     Algorithm algorithm) {
  if (shape.ranks() < 2) return {"none", {}};
  return fabric.runtime().describe(fabric, op, shape, bytes, algorithm);
}

}  // namespace trnplan::models
