// Lanes of a step on a machine that is not ideal: one per class of columns, or one per core.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/step/shared_links.h"
#include "models/step/step_lanes.h"
#include "topology/nics.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

std::vector<StageGroups> groups_of_stages(const StepLayout& layout) {
  std::vector<StageGroups> groups;
  for (int stage = 0; stage < layout.stages; ++stage) groups.push_back(layout.groups_of(stage));
  return groups;
}

topology::Cluster cluster_of(const StepParts& parts, const Scenario& scenario) {
  topology::Cluster cluster = parts.job.cluster;
  cluster.oversubscription = topology::oversubscription_of(cluster) / scenario.spine;
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
  /// `ranks`: by stage, then lane, one of its cores. `counts`: by lane, how many a stage has.
  ScenarioLayout(const StepParts& parts, const Scenario& scenario, topology::Placement placement,
                 std::vector<int> columns, const std::vector<int>& ranks, const std::vector<int>& counts)
      : parts_(parts),
        groups_(groups_of_stages(parts)),
        columns_(std::move(columns)),
        cluster_(cluster_of(parts, scenario)),
        placement_(std::move(placement)),
        fabric_(cluster_, parts.graph, placement_, parts.profile, nullptr,
                shares_of_classes(placement_, scenario)),
        lanes_(static_cast<int>(ranks.size()) / parts.stages),
        usual_network_(scenario.has_usual_network()),
        random_(scenario.is_random()) {
    for (int lane = 0; lane < lanes_; ++lane)
      replicas_.push_back(replica_of(parts, columns_[at(ranks[at(lane)])]));
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const NodeState node = scenario.state(placement_.node_of(ranks[i]));
      cores_.push_back({ranks[i], counts[i % counts.size()], scenario.factor(ranks[i]), node});
      late_.push_back(work_item("late start", Category::overhead, common::step_overhead, node.late));
    }
  }

  int lanes(int) const override { return lanes_; }
  const Fabric& fabric() const override { return fabric_; }
  Cores cores(int stage, int lane) const override { return cores_[at(stage * lanes_ + lane)]; }
  double factor(int stage, int lane) const override { return cores_[at(stage * lanes_ + lane)].factor; }
  int replica(int lane) const override { return replicas_[at(lane)]; }
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
    if (!fresh) return it->second;
    const auto [pairs, first] = pairs_.try_emplace(boundary);
    if (first) pairs->second = parts_.pairs_of(boundary);
    return it->second = shares_of(pairs->second, item.call, lanes_);
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
  /// The transfers of a call on groups, which live as long as the layout. `above`: added to the lanes of a
  /// group's ranks after the first.
  virtual std::vector<Share> shares_of(const Groups& groups, const Call& call, int above) = 0;

  bool has_usual_network() const { return usual_network_; }
  bool is_random() const { return random_; }

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
        for (const auto& [id, own] : share.load)
          most = std::max(most, Bytes(bytes[id]) / fabric_.capacity(id));
        for (const int lane : share.lanes)
          times[at(lane)] = std::max(times[at(lane)], item.length + to_sim_time(most));
      }
      for (std::size_t lane = 0; lane < times.size(); ++lane) longest[lane] += times[lane];
    }
    return longest;
  }

  bool usual_network_, random_;
  std::vector<int> replicas_;  ///< by lane
  std::vector<Cores> cores_;   ///< by stage, then lane
  std::vector<Item> late_;     ///< likewise
  std::map<std::pair<int, Call>, std::vector<Share>> known_;
  std::map<int, Groups> pairs_;  ///< by boundary
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
                       columns_of_ranks(parts), classes.ranks, classes.columns),
        of_column_(std::move(classes.of_column)),
        own_loads_(!has_usual_network() || !has_uniform_nodes()) {}

  bool passes_are_whole() override {
    // Where chains load what they do on an ideal machine, lanes share no more than its stages do; but a group of some
    // lanes may be faster than all of them, and fill what all do not.
    if (!whole_) {
      whole_ = chains_stay_in_lanes() && (own_loads_ ? shared_by_chains(parts_, Loads{*this}).stopping.empty()
                                          : lanes_ > 1 ? !parts_.shares_links
                                                       : !parts_.must_expand);
    }
    return *whole_;
  }

  /// Operators run one after the other where times are random, so only their own times change.
  SimTime length(int stage, int lane, const Pass& pass, double times) override {
    SimTime length = whole(stage, lane, pass).length;
    const double factor = this->factor(stage, lane);
    for (const Chain& c : pass.chains) {
      SimTime more;
      for (const Item& item : *c.items) {
        if (!item.is_transfer()) more += stretched(item, factor * times) - stretched(item, factor);
      }
      length += more * c.times;
    }
    return length;
  }

  const ChainRun& run(int stage, int lane, const Chain& chain, double times) override {
    if (times == 1) return usual_run(stage, lane, *chain.items);
    return varied_ = run_of(stage, lane, *chain.items, factor(stage, lane) * times);
  }

  const Item& whole(int stage, int lane, const Pass& pass) override {
    const double factor = this->factor(stage, lane);
    if (factor == 1 && !own_loads_) return pass.whole;
    const int where = own_loads_ ? stage * lanes_ + lane : kAnywhere;
    const auto [it, fresh] = wholes_.try_emplace({&pass, where, factor});
    if (!fresh) return it->second;
    Item& item = it->second = pass.whole;
    item.fixed = pass.launch ? pass.launch->fixed : Attribution{};
    for (const Chain& c : pass.chains) item.fixed.add(usual_run(stage, lane, *c.items).attribution, c.times);
    item.length = item.fixed.total();
    return item;
  }

 private:
  static constexpr int kAnywhere = -1;

  /// Loads of lanes for shared_by_chains().
  struct Loads {
    LanePerClass& layout;
    int lanes() const { return layout.lanes_; }
    const Fabric& fabric() const { return layout.fabric_; }
    template <class Visit>
    void of(int stage, const Item& item, const Visit& visit) const {
      for (const Share& share : layout.shares(stage, item)) visit(share.load, 0, share.lanes);
    }
    template <class Visit>
    void between(int boundary, const Item& item, const Visit& visit) const {
      for (const Share& share : layout.pair_shares(boundary, item)) visit(share.load, 0, share.lanes);
    }
  };

  int lane_of(int rank) const { return of_column_[at(columns_[at(rank)])]; }

  /// True if the cores of each node that hold one stage are in one lane.
  bool has_uniform_nodes() const {
    std::map<std::pair<int, int>, int> lanes;  // by node and stage
    for (int r = 0; r < static_cast<int>(columns_.size()); ++r) {
      if (!placement_.represents(r)) continue;
      const auto [it, fresh] =
          lanes.try_emplace({placement_.node_of(r), parts_.order.stage_of(r)}, lane_of(r));
      if (it->second != lane_of(r)) return false;
    }
    return true;
  }

  /// True if each group that exchanges inside a pass is in one lane, and each lane in one transfer of it; where
  /// times are random, also if the operators of a pass run one after the other.
  bool chains_stay_in_lanes() {
    for (int s = 0; s < parts_.stages; ++s) {
      for (const Chunk& chunk : parts_.work(s).chunks) {
        for (const Pass* pass : {&chunk.forward, &chunk.backward, &chunk.weights}) {
          for (const Chain& chain : pass->chains) {
            for (const Item& item : *chain.items) {
              if (is_random() && (item.overlapped || item.background)) return false;
              if (item.is_transfer() && !stays_in_lanes(alike(groups_[at(s)].of(item.call.process_group))))
                return false;
            }
          }
        }
      }
    }
    return true;
  }
  struct Alike {
    std::vector<int> lanes;
    Groups groups;
  };
  bool stays_in_lanes(const std::vector<Alike>& alike) const {
    std::vector<bool> seen(at(lanes_));
    for (const Alike& same : alike) {
      if (same.lanes.size() > 1 || seen[at(same.lanes.front())]) return false;
      seen[at(same.lanes.front())] = true;
    }
    return true;
  }

  const ChainRun& usual_run(int stage, int lane, const Items& chain) {
    const double factor = this->factor(stage, lane);
    const int where = own_loads_ ? stage * lanes_ + lane : kAnywhere;
    const auto [it, fresh] = chains_.try_emplace({&chain, where, factor});
    if (fresh) it->second = run_of(stage, lane, chain, factor);
    return it->second;
  }
  /// A chain on a lane alone, its work taking `factor` times as long.
  ChainRun run_of(int stage, int lane, const Items& chain, double factor) {
    Items items = chain;
    for (Item& item : items) {
      if (item.is_transfer()) {
        if (own_loads_) take_load(item, stage, lane);
        continue;
      }
      const SimTime stretch = stretched(item, factor) - item.length;
      attribute_stretch(item.fixed, item, stretch, *parts_.profile.schema);
      item.length += stretch;
    }
    return run_chain(own_loads_ ? fabric_ : parts_.fabric, items, parts_.slowdown());
  }
  void take_load(Item& item, int stage, int lane) {
    item.load.clear();
    for (const Share& share : shares(stage, item)) {
      if (share.lanes.front() != lane) continue;
      item.load = share.load;
      item.scale = share.scale;
    }
  }

  /// Groups by the classes of all members, in their order: those with as many of each do the same.
  const std::vector<Alike>& alike(const Groups& groups) {
    const auto [it, fresh] = alike_.try_emplace(&groups);
    if (!fresh) return it->second;
    std::map<std::vector<int>, std::size_t> number;
    for (const std::vector<int>& group : groups) {
      if (std::none_of(group.begin(), group.end(), [&](int r) { return placement_.represents(r); })) continue;
      std::vector<int> key;
      for (const int r : group) key.push_back(lane_of(r));
      std::sort(key.begin(), key.end());
      const auto [found, first] = number.try_emplace(key, it->second.size());
      if (first) {
        key.erase(std::unique(key.begin(), key.end()), key.end());
        it->second.push_back({std::move(key), {}});
      }
      it->second[found->second].groups.push_back(group);
    }
    return it->second;
  }

  std::vector<Share> shares_of(const Groups& groups, const Call& call, int above) override {
    std::vector<Share> shares;
    for (const Alike& same : alike(groups)) {
      std::vector<int> lanes = same.lanes;
      if (above > 0) lanes.push_back(above + lanes.front());
      const Phase phase = collective(fabric_, call.op, same.groups, call.bytes).phases.at(call.phase);
      shares.push_back({std::move(lanes), load_of(phase, call), phase.scale * call.repeat});
    }
    return shares;
  }

  std::vector<int> of_column_;  ///< class of each column
  bool own_loads_;  ///< chains of some lanes load other resources, or others, than on an ideal machine
  std::optional<bool> whole_;
  std::map<const Groups*, std::vector<Alike>> alike_;
  std::map<std::tuple<const Pass*, int, double>, Item> wholes_;
  std::map<std::tuple<const Items*, int, double>, ChainRun> chains_;
  ChainRun varied_;
};

class LanePerCore : public ScenarioLayout {
 public:
  LanePerCore(const StepParts& parts, const Scenario& scenario, std::vector<int> columns,
              const std::vector<int>& ranks)
      : ScenarioLayout(parts, scenario, topology::Placement::flat(parts.job.cluster), std::move(columns),
                       ranks, {1}) {}

 private:
  std::vector<Share> shares_of(const Groups& groups, const Call& call, int above) override {
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
