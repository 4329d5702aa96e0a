#include "models/collective/neuron_algorithms.h"

namespace trnplan::models::neuron {

std::vector<Stage> mesh_stages(const GroupMembers& group, double gathered, bool reduce) {
  const int local = group.shape().local();
  const double bytes = gathered / local;
  Stage s{1, 0, 0, {}};
  for (int from = 0; from < local; ++from) {
    for (int to = 0; to < local; ++to) {
      if (from == to) continue;
      s.relations.push_back(relation(from, to, bytes, reduce));
      s.relations.back().spread = true;
    }
  }
  return {s};
}

}  // namespace trnplan::models::neuron
