#include "models/step/step_lanes.h"

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "units/index.h"

namespace trnplan::models {

namespace {

Fabric::Load shifted(Fabric::Load load, Fabric::Id by) {
  for (auto& [id, bytes] : load) id += by;
  return load;
}

class LanePerStage : public Layout {
 public:
  explicit LanePerStage(const StepParts& parts) : parts_(parts) {}
  int lanes(int) const override { return 1; }
  Cores cores(int stage, int) const override {
    const int ranks = parts_.job.cluster.cores();
    int first = 0;
    while (first + 1 < ranks && parts_.order.stage_of(first) != stage) ++first;
    return {first, ranks / parts_.stages, 1, {}};
  }
  const Fabric& fabric() const override { return parts_.fabric; }
  const std::vector<Share>& shares(int stage, const Item& item) override {
    return remember(&item, parts_.parts[at(stage)].shift, 1);
  }
  const std::vector<Share>& pair_shares(int boundary, const Item& item) override {
    return remember(&item, parts_.boundaries[at(boundary)].shift, 2);
  }
  bool passes_are_whole() override { return !parts_.must_expand; }
  Detail detail() override { return parts_.must_expand ? Detail::shared : Detail::passes; }
  SimTime hold(const MessageEnd& end, int) override {
    return parts_.hold(end.boundary, end.activation).length;
  }

 private:
  const std::vector<Share>& remember(const Item* item, Fabric::Id shift, int lanes) {
    const auto [it, fresh] = known_.try_emplace({item, shift});
    if (fresh) {
      it->second = {{{}, shifted(item->load, shift), item->scale}};
      for (int lane = 0; lane < lanes; ++lane) it->second.front().lanes.push_back(lane);
    }
    return it->second;
  }
  const StepParts& parts_;
  struct Hash {
    std::size_t operator()(const std::pair<const Item*, Fabric::Id>& k) const {
      return (reinterpret_cast<std::size_t>(k.first) ^ k.second) * 0x9e3779b97f4a7c15u;
    }
  };
  std::unordered_map<std::pair<const Item*, Fabric::Id>, std::vector<Share>, Hash> known_;
};

}  // namespace

std::unique_ptr<Layout> lane_per_stage(const StepParts& parts) {
  return std::make_unique<LanePerStage>(parts);
}

}  // namespace trnplan::models
