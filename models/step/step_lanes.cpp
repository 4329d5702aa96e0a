#include "models/step/step_lanes.h"
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

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

std::vector<StageGroups> groups_of_stages(const StepLayout& layout) {
  std::vector<StageGroups> groups;
  for (int stage = 0; stage < layout.stages; ++stage) groups.push_back(layout.groups_of(stage));
  return groups;
}

class LanePerClass : public Layout {
 public:
  LanePerClass(const StepParts& parts, const Scenario& scenario)
      : parts_(parts),
        groups_(groups_of_stages(parts)),
        columns_(columns_of_ranks(parts)),
        classes_(column_classes(parts, scenario, groups_)),
        placement_(parts.job.cluster, classes_.group_of_nodes),
        fabric_(parts.job.cluster, parts.graph, placement_, parts.profile) {}
  int lanes(int) const override { return classes_.classes(); }
  double factor(int stage, int lane) const override { return classes_.factor(stage, lane); }
  const Fabric& fabric() const override { return fabric_; }

  const std::vector<Share>& shares(int stage, const Item& item) override {
    return remember(stage, item, groups_[at(stage)].of(item.call.process_group), 0);
  }
  const std::vector<Share>& pair_shares(int boundary, const Item& item) override {
    return remember(-1 - boundary, item, parts_.pairs_of(boundary), classes_.classes());
  }

 private:
  /// `above`: added to the lanes of a group's ranks after the first.
  const std::vector<Share>& remember(int where, const Item& item, const Groups& groups, int above) {
    const auto [it, fresh] = known_.try_emplace({where, item.call});
    if (!fresh) return it->second;
    // By the classes of all members, in the order of the groups: those with as many of each do the same.
    std::map<std::vector<int>, std::size_t> number;
    std::vector<std::pair<std::vector<int>, Groups>> alike;
    for (const std::vector<int>& group : groups) {
      if (std::none_of(group.begin(), group.end(), [&](int r) { return placement_.represents(r); })) continue;
      std::vector<int> key;
      for (const int r : group) key.push_back(classes_.of_column[at(columns_[at(r)])]);
      std::sort(key.begin(), key.end());
      const auto [found, first] = number.try_emplace(key, alike.size());
      if (first) alike.emplace_back(std::move(key), Groups{});
      alike[found->second].second.push_back(group);
    }
    for (const auto& [key, same] : alike) {
      std::vector<int> lanes(key);
      lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
      if (above > 0) lanes.push_back(above + lanes.front());
      const Phase phase = collective(fabric_, item.call.op, same, item.call.bytes).phases.at(item.call.phase);
      Fabric::Load load = phase.load;
      for (auto& [id, bytes] : load) bytes *= item.call.repeat;
      it->second.push_back({std::move(lanes), std::move(load), phase.scale * item.call.repeat});
    }
    return it->second;
  }

  const StepParts& parts_;
  std::vector<StageGroups> groups_;
  std::vector<int> columns_;
  ColumnClasses classes_;
  topology::Placement placement_;
  Fabric fabric_;
  std::map<std::pair<int, Call>, std::vector<Share>> known_;
};

class LanePerCore : public Layout {
 public:
  LanePerCore(const StepParts& parts, const Scenario& scenario)
      : parts_(parts),
        placement_(topology::Placement::flat(parts.job.cluster)),
        fabric_(parts.job.cluster, parts.graph, placement_, parts.profile),
        lane_of_(columns_of_ranks(parts)),
        lanes_(static_cast<int>(lane_of_.size()) / parts.stages),
        groups_(groups_of_stages(parts)),
        factors_(lane_of_.size(), 1) {
    for (int r = 0; r < parts.job.cluster.cores(); ++r)
      factors_[at(parts.order.stage_of(r) * lanes_ + lane_of_[at(r)])] = scenario.factor(r);
  }
  int lanes(int) const override { return lanes_; }
  double factor(int stage, int lane) const override { return factors_[at(stage * lanes_ + lane)]; }
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
  int lanes_;
  std::vector<StageGroups> groups_;
  std::vector<double> factors_;  ///< by stage, then lane
  std::map<std::pair<int, Call>, std::vector<Share>> known_;
};

}  // namespace

std::unique_ptr<Layout> lane_per_stage(const StepParts& parts) {
  return std::make_unique<LanePerStage>(parts);
}

std::unique_ptr<Layout> lane_per_class(const StepParts& parts, const Scenario& scenario) {
  return std::make_unique<LanePerClass>(parts, scenario);
}

std::unique_ptr<Layout> lane_per_core(const StepParts& parts, const Scenario& scenario) {
  return std::make_unique<LanePerCore>(parts, scenario);
}

}  // namespace trnplan::models
