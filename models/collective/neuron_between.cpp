#include <algorithm>
#include <bit>

#include "models/collective/neuron_algorithms.h"

namespace trnplan::models::neuron {

std::vector<Stage> stages_between(Algorithm algorithm, const GroupShape& shape, double gathered,
                                  bool reduce) {
  const int k = shape.node_count();
  std::vector<Stage> stages;
  const auto stage = [&](std::int64_t steps, Relation::Node node, int by, double bytes) {
    Stage s{steps, steps, steps, {}};
    for (int j = 0; j < shape.local(); ++j) s.relations.push_back(relation(j, j, bytes, reduce, node, by));
    stages.push_back(std::move(s));
  };
  if (algorithm == mesh) {
    stage(1, Relation::Node::others, 0, gathered / k);
  } else if (algorithm == halving_doubling) {
    // Bruck's order where k is not a power of two: each node sends all it has to the node `by` places on.
    const bool power_of_two = std::has_single_bit(static_cast<unsigned>(k));
    const auto node = power_of_two ? Relation::Node::flip : Relation::Node::shift;
    for (int by = 1; by < k; by *= 2) stage(1, node, by, gathered / k * std::min(by, k - by));
  } else {
    stage(k - 1, Relation::Node::shift, 1, gathered / k);
  }
  return stages;
}

}  // namespace trnplan::models::neuron
