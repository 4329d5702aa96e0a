#include "models/step/collective_use.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "models/step/step_parts.h"

namespace trnplan::models {

namespace {

class Uses {
 public:
  explicit Uses(const StepParts& parts) : parts_(parts) {}

  void add_stage(int stage) {
    const StageGroups groups = parts_.representative(stage);
    const StageWork& work = parts_.work(stage);
    for (const Chunk& chunk : work.chunks) {
      for (const Pass* pass : {&chunk.forward, &chunk.backward, &chunk.weights}) {
        for (const Chain& chain : pass->chains) add(*chain.items, groups);
      }
    }
    for (const Items* items : work.collectives_of_step()) add(*items, groups);
  }

  std::vector<CollectiveUse> all() const {
    std::vector<CollectiveUse> list;
    for (const auto& [key, use] : known_) list.push_back(use);
    return list;
  }

 private:
  void add(const Items& items, const StageGroups& groups) {
    for (const Item& item : items) {
      const Call& call = item.call;
      const bool rank_to_rank = call.op == CollectiveOp::permute || call.op == CollectiveOp::send_recv;
      if (!item.is_transfer() || rank_to_rank || groups.of(call.process_group).empty()) continue;
      const std::vector<int>& group = groups.of(call.process_group).front();
      std::set<int> nodes;
      for (const int rank : group) nodes.insert(parts_.placement.node_of(rank));
      const CollectiveUse use{call.op, static_cast<int>(group.size()), static_cast<int>(nodes.size()),
                              call.bytes, call.bytes};
      CollectiveUse& known = known_.try_emplace({use.op, use.nodes, use.ranks}, use).first->second;
      known.smallest = std::min(known.smallest, call.bytes);
      known.largest = std::max(known.largest, call.bytes);
    }
  }

  const StepParts& parts_;
  std::map<std::tuple<CollectiveOp, int, int>, CollectiveUse> known_;
};

}  // namespace

std::vector<CollectiveUse> collectives_of(const StepModel& step) {
  Uses uses(step.parts());
  std::set<const StageWork*> seen;
  for (int stage = 0; stage < step.parts().stages; ++stage) {
    if (seen.insert(&step.parts().work(stage)).second) uses.add_stage(stage);
  }
  return uses.all();
}

}  // namespace trnplan::models
