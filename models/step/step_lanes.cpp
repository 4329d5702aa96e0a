#include "models/step/step_lanes.h"
#include "units/index.h"

#include <map>
#include <unordered_map>
#include <utility>

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
  const Fabric& fabric() const override { return parts_.fabric; }
  const std::vector<Share>& shares(int stage, const Item& item) override {
    return remember(&item, parts_.parts[at(stage)].shift, {0});
  }
  const std::vector<Share>& pair_shares(int boundary, const Item& item) override {
    return remember(&item, parts_.boundaries[at(boundary)].shift, {0, 1});
  }

 private:
  const std::vector<Share>& remember(const Item* item, Fabric::Id shift, const std::vector<int>& lanes) {
    const auto [it, fresh] = known_.try_emplace({item, shift});
    if (fresh) it->second = {{lanes, shifted(item->load, shift), item->scale}};
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

class LanePerCore : public Layout {
 public:
  explicit LanePerCore(const StepParts& parts)
      : parts_(parts),
        placement_(topology::Placement::flat(parts.job.cluster)),
        fabric_(parts.job.cluster, parts.graph, placement_, parts.profile),
        lane_of_(at(parts.job.cluster.cores())) {
    for (int stage = 0; stage < parts.stages; ++stage) {
      groups_.push_back(parts.groups_of(stage));
      int lane = 0;
      for (int d = 0; d < parts.strategy.data_parallel; ++d) {
        for (int c = 0; c < parts.strategy.context_parallel; ++c) {
          for (int t = 0; t < parts.strategy.tensor_parallel; ++t) {
            lane_of_[at(parts.order.rank(stage, d, c, t))] = lane++;
          }
        }
      }
      lanes_ = lane;
    }
  }
  int lanes(int) const override { return lanes_; }
  const Fabric& fabric() const override { return fabric_; }

  const std::vector<Share>& shares(int stage, const Item& item) override {
    return remember(stage, item, [&](std::vector<Share>& shares) {
      for (const std::vector<int>& group : groups_[at(stage)].of(item.call.process_group)) {
        std::vector<int> lanes;
        for (const int r : group) lanes.push_back(lane_of_[at(r)]);
        shares.push_back({std::move(lanes), load_of(group, item.call), 0});
      }
    });
  }
  const std::vector<Share>& pair_shares(int boundary, const Item& item) override {
    return remember(-1 - boundary, item, [&](std::vector<Share>& shares) {
      for (const std::vector<int>& pair : parts_.pairs_of(boundary)) {
        shares.push_back(
            {{lane_of_[at(pair[0])], lanes_ + lane_of_[at(pair[1])]}, load_of(pair, item.call), 0});
      }
    });
  }

 private:
  template <class Fill>
  const std::vector<Share>& remember(int where, const Item& item, Fill&& fill) {
    const auto [it, fresh] = known_.try_emplace({where, item.call});
    if (fresh) fill(it->second);
    return it->second;
  }
  Fabric::Load load_of(const std::vector<int>& group, const Call& call) {
    Fabric::Load load = collective(fabric_, call.op, {group}, call.bytes).phases.at(call.phase).load;
    for (auto& [id, bytes] : load) bytes *= call.repeat;
    return load;
  }

  const StepParts& parts_;
  topology::Placement placement_;
  Fabric fabric_;
  std::vector<int> lane_of_;  ///< by rank, within its stage
  int lanes_ = 1;
  std::vector<StageGroups> groups_;
  std::map<std::pair<int, Call>, std::vector<Share>> known_;
};

}  // namespace

std::unique_ptr<Layout> lane_per_stage(const StepParts& parts) {
  return std::make_unique<LanePerStage>(parts);
}

std::unique_ptr<Layout> lane_per_core(const StepParts& parts) {
  return std::make_unique<LanePerCore>(parts);
}

}  // namespace trnplan::models
