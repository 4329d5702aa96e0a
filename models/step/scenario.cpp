#include "models/step/scenario.h"

#include <algorithm>

namespace trnplan::models {

bool Scenario::is_ideal() const {
  return spine == 1 && !is_random() &&
         std::all_of(slow.begin(), slow.end(), [](const SlowCores& s) { return s.factor == 1; }) &&
         std::all_of(nodes.begin(), nodes.end(), [](const StatedNode& n) { return n.state == NodeState{}; });
}

bool Scenario::has_usual_network() const {
  return spine == 1 && std::all_of(nodes.begin(), nodes.end(), [](const StatedNode& n) {
           return n.state.network == 1 && n.state.links == 1;
         });
}

double Scenario::factor(int rank) const {
  double product = 1;
  for (const SlowCores& s : slow) {
    if (rank >= s.first && rank - s.first < s.count) product *= s.factor;
  }
  return product;
}

NodeState Scenario::state(int node) const {
  NodeState all;
  for (const StatedNode& n : nodes) {
    if (n.node != node) continue;
    all.network *= n.state.network;
    all.links *= n.state.links;
    all.late += n.state.late;
  }
  return all;
}

Seconds most_work(const std::vector<CoreWork>& work, int stage) {
  Seconds most{};
  for (const CoreWork& w : work) {
    if (w.stage == stage) most = std::max(most, w.work);
  }
  return most;
}

}  // namespace trnplan::models
