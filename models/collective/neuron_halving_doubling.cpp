#include <bit>

#include "models/collective/neuron_algorithms.h"
#include "units/index.h"

namespace trnplan::models::neuron {

bool halving_doubling_can_run(const GroupMembers& group) {
  return std::has_single_bit(static_cast<unsigned>(group.shape().local())) && group.equal_chips();
}

std::vector<Stage> halving_doubling_stages(const GroupMembers& group, double gathered, bool reduce) {
  const std::vector<int>& chips = group.fabric().hypercube(group.shape().chips);
  const int count = static_cast<int>(chips.size());
  const int axes = std::bit_width(static_cast<unsigned>(count)) - 1;
  std::vector<Stage> stages;
  double held = gathered / group.shape().local();  // bytes that each rank has so far
  for (int step = 0; step < axes; ++step, held *= 2) {
    Stage s{1, 0, 0, {}};
    for (int lane = 0; lane < axes; ++lane) {
      const int axis = 1 << ((step + lane) % axes);
      for (int c = 0; c < count; ++c) {
        const auto& from = group.on(chips[at(c)]);
        const auto& to = group.on(chips[at(c ^ axis)]);
        for (std::size_t core = 0; core < from.size(); ++core) {
          s.relations.push_back(relation(from[core], to[core], held / axes, reduce));
        }
      }
    }
    stages.push_back(std::move(s));
  }
  for (int by = 1; by < group.per_chip(); by *= 2, held *= 2) {
    Stage s{1, 0, 0, {}};
    for (const int chip : chips) {
      const auto& members = group.on(chip);
      for (int core = 0; core < group.per_chip(); ++core) {
        s.relations.push_back(relation(members[at(core)], members[at(core ^ by)], held, reduce));
      }
    }
    stages.push_back(std::move(s));
  }
  return stages;
}

}  // namespace trnplan::models::neuron
