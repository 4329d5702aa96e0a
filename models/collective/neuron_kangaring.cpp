#include "models/collective/neuron_algorithms.h"

namespace trnplan::models::neuron {

bool kangaring_can_run(const GroupMembers& group) {
  return group.shape().whole_chips && group.shape().chips.size() > 1;
}

std::vector<Stage> kangaring_stages(const GroupMembers& group, double gathered, bool reduce) {
  const GroupShape& shape = group.shape();
  const auto orders = group.fabric().directions(shape.chips);
  const auto chips = static_cast<std::int64_t>(shape.chips.size());
  Stage s{chips - 1, 0, 0, {}};
  const double bytes = gathered / shape.local() / static_cast<double>(orders.size());
  for (const auto& order : orders) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto& from = group.on(order[i]);
      const auto& to = group.on(order[(i + 1) % order.size()]);
      for (std::size_t core = 0; core < from.size(); ++core) {
        Relation r = relation(from[core], to[core], bytes, reduce);
        r.written = group.per_chip() + (reduce ? 1 : 0);
        s.relations.push_back(r);
      }
    }
  }
  if (group.per_chip() < 2) return {s};
  Stage siblings{1, 0, 0, {}};
  for (const int chip : shape.chips) {
    for (const int from : group.on(chip)) {
      for (const int to : group.on(chip)) {
        if (from != to) {
          siblings.relations.push_back(relation(from, to, gathered / shape.local(), reduce));
        }
      }
    }
  }
  return {s, siblings};
}

}  // namespace trnplan::models::neuron
