#include "topology/placement.h"

#include <map>
#include <utility>

namespace trnplan::topology {

Placement::Placement(const Cluster& cluster, const RankOrder& order) : Placement(cluster) {
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

Placement::Placement(const Cluster& cluster, std::vector<int> class_of_node) : Placement(cluster) {
  class_of_node_ = std::move(class_of_node);
  for (int node = 0; node < static_cast<int>(class_of_node_.size()); ++node) {
    if (class_of_node_[static_cast<std::size_t>(node)] == classes()) representatives_.push_back(node);
  }
}

Placement Placement::uniform(const Cluster& cluster) {
  Placement p(cluster);
  p.representatives_ = {0};
  p.class_of_node_.assign(static_cast<std::size_t>(cluster.nodes), 0);
  return p;
}

Placement Placement::flat(const Cluster& cluster) {
  Placement p(cluster);
  for (int node = 0; node < cluster.nodes; ++node) {
    p.representatives_.push_back(node);
    p.class_of_node_.push_back(node);
  }
  return p;
}

}  // namespace trnplan::topology
