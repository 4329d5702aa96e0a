#include "topology/placement.h"

#include <map>

namespace trnplan::topology {

Placement::Placement(const Cluster& cluster, const RankOrder& order) : cores_(cluster.instance.cores()) {
  std::map<std::vector<int>, int> known;
  for (int node = 0; node < cluster.nodes; ++node) {
    std::vector<int> stages(static_cast<std::size_t>(cores_));
    for (int core = 0; core < cores_; ++core)
      stages[static_cast<std::size_t>(core)] = order.stage_of(node * cores_ + core);
    const auto [it, fresh] = known.try_emplace(std::move(stages), static_cast<int>(representatives_.size()));
    if (fresh) representatives_.push_back(node);
    class_of_node_.push_back(it->second);
  }
}

}  // namespace trnplan::topology
