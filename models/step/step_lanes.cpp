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
  SimTime hold(const MessageEnd& end, int) override {
    return parts_.hold(end.boundary, end.activation).length;
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

topology::Cluster cluster_of(const StepParts& parts, const Scenario& scenario) {
  topology::Cluster cluster = parts.job.cluster;
  cluster.oversubscription /= scenario.spine;
  return cluster;
}

std::vector<Fabric::Shares> shares_of_classes(const topology::Placement& placement,
                                              const Scenario& scenario) {
  std::vector<Fabric::Shares> all;
  for (int cls = 0; cls < placement.classes(); ++cls) {
    const NodeState state = scenario.state(placement.representative(cls));
    all.push_back({state.links, state.network});
  }
  return all;
}

/// Lanes of a machine that is not ideal.
class ScenarioLayout : public Layout {
 public:
  /// `ranks`: by stage, then lane, one of its cores.
  ScenarioLayout(const StepParts& parts, const Scenario& scenario, topology::Placement placement,
                 std::vector<int> columns, const std::vector<int>& ranks)
      : parts_(parts),
        groups_(groups_of_stages(parts)),
        columns_(std::move(columns)),
        cluster_(cluster_of(parts, scenario)),
        placement_(std::move(placement)),
        fabric_(cluster_, parts.graph, placement_, parts.profile, nullptr,
                shares_of_classes(placement_, scenario)),
        lanes_(static_cast<int>(ranks.size()) / parts.stages),
        usual_network_(scenario.has_usual_network()) {
    for (const int rank : ranks) {
      factors_.push_back(scenario.factor(rank));
      const Seconds late = scenario.state(placement_.node_of(rank)).late;
      late_.push_back(work_item("late start", Category::overhead, common::step_overhead, late));
    }
  }

  int lanes(int) const override { return lanes_; }
  const Fabric& fabric() const override { return fabric_; }
  double factor(int stage, int lane) const override { return factors_[at(stage * lanes_ + lane)]; }
  const Item* late(int stage, int lane) const override {
    const Item& item = late_[at(stage * lanes_ + lane)];
    return item.length.ps > 0 ? &item : nullptr;
  }

  const std::vector<Share>& shares(int stage, const Item& item) override {
    const auto [it, fresh] = known_.try_emplace({stage, item.call});
    if (fresh) it->second = shares_of(groups_[at(stage)].of(item.call.process_group), item.call, 0);
    return it->second;
  }
  const std::vector<Share>& pair_shares(int boundary, const Item& item) override {
    const auto [it, fresh] = known_.try_emplace({-1 - boundary, item.call});
    if (fresh) it->second = shares_of(parts_.pairs_of(boundary), item.call, lanes_);
    return it->second;
  }

  /// As long as the whole message takes without contention where it takes longer than on an ideal machine.
  SimTime hold(const MessageEnd& end, int lane) override {
    const SimTime ideal = parts_.hold(end.boundary, end.activation).length;
    if (usual_network_) return ideal;
    const auto [it, fresh] = holds_.try_emplace({end.boundary, end.activation});
    if (fresh) it->second = alone(end);
    return std::max(ideal, it->second[at(lane + (end.above ? lanes_ : 0))]);
  }

 protected:
  /// The transfers of a call on groups. `above`: added to the lanes of a group's ranks after the first.
  virtual std::vector<Share> shares_of(const Groups& groups, const Call& call, int above) const = 0;

  const StepParts& parts_;
  std::vector<StageGroups> groups_;
  std::vector<int> columns_;  ///< by rank, within its stage
  topology::Cluster cluster_;
  topology::Placement placement_;
  Fabric fabric_;
  int lanes_;

 private:
  /// The time of a message by lane, those of the stage below first, if all its pairs send at the same time.
  std::vector<SimTime> alone(const MessageEnd& end) {
    std::vector<SimTime> longest(at(2 * lanes_));
    const Boundary& b = parts_.boundaries[at(end.boundary)];
    for (const Item& item : end.activation ? *b.activation : *b.gradient) {
      const std::vector<Share>& shares = pair_shares(end.boundary, item);
      std::map<Fabric::Id, double> bytes;
      for (const Share& share : shares) {
        for (const auto& [id, own] : share.load) bytes[id] += own;
      }
      std::vector<SimTime> times(longest.size());
      for (const Share& share : shares) {
        Seconds most{};
        for (const auto& [id, own] : share.load) most = std::max(most, Bytes(bytes[id]) / fabric_.capacity(id));
        for (const int lane : share.lanes)
          times[at(lane)] = std::max(times[at(lane)], item.length + to_sim_time(most));
      }
      for (std::size_t lane = 0; lane < times.size(); ++lane) longest[lane] += times[lane];
    }
    return longest;
  }

  bool usual_network_;
  std::vector<double> factors_;  ///< by stage, then lane
  std::vector<Item> late_;
  std::map<std::pair<int, Call>, std::vector<Share>> known_;
  std::map<std::pair<int, bool>, std::vector<SimTime>> holds_;
};

Fabric::Load load_of(const Phase& phase, const Call& call) {
  Fabric::Load load = phase.load;
  for (auto& [id, bytes] : load) bytes *= call.repeat;
  return load;
}

class LanePerClass : public ScenarioLayout {
 public:
  LanePerClass(const StepParts& parts, const Scenario& scenario, ColumnClasses classes)
      : ScenarioLayout(parts, scenario, topology::Placement(parts.job.cluster, classes.group_of_nodes),
                       columns_of_ranks(parts), classes.ranks),
        of_column_(std::move(classes.of_column)) {}

 private:
  std::vector<Share> shares_of(const Groups& groups, const Call& call, int above) const override {
    // By the classes of all members, in the order of the groups: those with as many of each do the same.
    std::map<std::vector<int>, std::size_t> number;
    std::vector<std::pair<std::vector<int>, Groups>> alike;
    for (const std::vector<int>& group : groups) {
      if (std::none_of(group.begin(), group.end(), [&](int r) { return placement_.represents(r); })) continue;
      std::vector<int> key;
      for (const int r : group) key.push_back(of_column_[at(columns_[at(r)])]);
      std::sort(key.begin(), key.end());
      const auto [found, first] = number.try_emplace(key, alike.size());
      if (first) alike.emplace_back(std::move(key), Groups{});
      alike[found->second].second.push_back(group);
    }
    std::vector<Share> shares;
    for (const auto& [key, same] : alike) {
      std::vector<int> lanes(key);
      lanes.erase(std::unique(lanes.begin(), lanes.end()), lanes.end());
      if (above > 0) lanes.push_back(above + lanes.front());
      const Phase phase = collective(fabric_, call.op, same, call.bytes).phases.at(call.phase);
      shares.push_back({std::move(lanes), load_of(phase, call), phase.scale * call.repeat});
    }
    return shares;
  }

  std::vector<int> of_column_;  ///< class of each column
};

class LanePerCore : public ScenarioLayout {
 public:
  LanePerCore(const StepParts& parts, const Scenario& scenario, std::vector<int> columns,
              const std::vector<int>& ranks)
      : ScenarioLayout(parts, scenario, topology::Placement::flat(parts.job.cluster), std::move(columns),
                       ranks) {}

 private:
  std::vector<Share> shares_of(const Groups& groups, const Call& call, int above) const override {
    std::vector<Share> shares;
    for (const std::vector<int>& group : groups) {
      std::vector<int> lanes;
      for (const int r : group) lanes.push_back(columns_[at(r)] + (lanes.empty() ? 0 : above));
      const Phase phase = collective(fabric_, call.op, {group}, call.bytes).phases.at(call.phase);
      shares.push_back({std::move(lanes), load_of(phase, call), 0});
    }
    return shares;
  }
};

}  // namespace

std::unique_ptr<Layout> lane_per_stage(const StepParts& parts) {
  return std::make_unique<LanePerStage>(parts);
}

std::unique_ptr<Layout> lane_per_class(const StepParts& parts, const Scenario& scenario) {
  return std::make_unique<LanePerClass>(parts, scenario,
                                        column_classes(parts, scenario, groups_of_stages(parts)));
}

std::unique_ptr<Layout> lane_per_core(const StepParts& parts, const Scenario& scenario) {
  std::vector<int> columns = columns_of_ranks(parts), ranks(columns.size());
  const int lanes = static_cast<int>(columns.size()) / parts.stages;
  for (int r = 0; r < parts.job.cluster.cores(); ++r)
    ranks[at(parts.order.stage_of(r) * lanes + columns[at(r)])] = r;
  return std::make_unique<LanePerCore>(parts, scenario, std::move(columns), ranks);
}

}  // namespace trnplan::models
