#include "models/collective/neuron_algorithms.h"

namespace trnplan::models::neuron {

std::vector<Stage> ring_stages(const GroupMembers& group, double gathered, bool reduce) {
  const GroupShape& shape = group.shape();
  const auto orders = group.fabric().directions(shape.chips);
  Stage s{shape.local() - 1, 0, 0, {}};
  const double bytes = gathered / shape.local() / static_cast<double>(orders.size());
  for (const auto& order : orders) {
    const std::vector<int> members = group.along(order);
    for (std::size_t i = 0; i < members.size(); ++i) {
      s.relations.push_back(relation(members[i], members[(i + 1) % members.size()], bytes, reduce));
    }
  }
  return {s};
}

}  // namespace trnplan::models::neuron
