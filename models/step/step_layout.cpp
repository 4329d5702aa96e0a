#include "models/step/step_layout.h"

#include <algorithm>
#include <cstdlib>

#include "models/framework/framework.h"
#include "units/index.h"

namespace trnplan::models {

const Groups& StageGroups::of(ProcessGroup process_group) const {
  switch (process_group) {
    case ProcessGroup::kv_replicas:
      return kv;
    case ProcessGroup::context:
      return context;
    case ProcessGroup::expert:
      return expert;
    case ProcessGroup::data:
      return data;
    case ProcessGroup::replicas:
      return replicas;
    case ProcessGroup::expert_data:
      return expert_data;
    case ProcessGroup::shard:
      return shard;
    case ProcessGroup::shard_copies:
      return copies;
    case ProcessGroup::tensor:
    case ProcessGroup::pipeline:
    case ProcessGroup::none:
      break;
  }
  return tensor;
}

std::optional<Link> link_above(const Strategy& s, int part) {
  if (part < 0 || part + 1 >= shape_of(s).parts()) return std::nullopt;
  const int from = stage_of(s, part), to = stage_of(s, part + 1);
  if (from == to) return std::nullopt;
  return to == (from + 1) % s.pipeline_parallel ? Link{from, true} : Link{to, false};
}

StepLayout::StepLayout(const Job& j, const Strategy& s, const Profile& p, const topology::ChipGraph& g,
                       CollectiveMemory* memory)
    : job(j),
      strategy(s),
      profile(on_job(p, j, &s)),
      graph(g),
      order(job.cluster, {s.tensor_parallel, s.context_parallel, s.data_parallel, s.pipeline_parallel}),
      placement(job.cluster, order),
      fabric(job.cluster, graph, placement, profile, memory),
      stages(s.pipeline_parallel) {}

bool StepLayout::touches_representative(const std::vector<int>& group) const {
  return std::any_of(group.begin(), group.end(), [&](int r) { return placement.represents(r); });
}

StageGroups StepLayout::groups_of(int stage) const {
  return groups_of(stage, [](int) { return true; });
}

StageGroups StepLayout::representative(int stage) const {
  return groups_of(stage, [&](int rank) { return placement.represents(rank); });
}

template <class Wanted>
StageGroups StepLayout::groups_of(int stage, const Wanted& wanted) const {
  StageGroups g;
  const int t = strategy.tensor_parallel, c = strategy.context_parallel, d = strategy.data_parallel;
  const bool by_unit = framework_of(strategy).units(strategy).has_value();
  const auto group = [&](int members, const auto& rank) {
    std::vector<int> ranks;
    int first = 0;  // of those wanted
    while (first < members && !wanted(rank(first))) ++first;
    if (members < 2 || first == members) return ranks;
    ranks.reserve(at(members));
    for (int m = 0; m < members; ++m) ranks.push_back(rank(m));
    return ranks;
  };
  const auto add = [](Groups& groups, std::vector<int> ranks) {
    if (ranks.size() > 1) groups.push_back(std::move(ranks));
  };
  const bool whole_experts = has_whole_experts(strategy);
  if (whole_experts) {
    // The same order, without CP, of the ranks of a stage: TP of experts, EP, the others.
    const int cut = expert_tensor_degree(strategy), e = strategy.expert_parallel;
    const int others = expert_data_ranks(strategy);
    const auto rank = [&](int other, int expert, int part) {
      const int flat = (other * e + expert) * cut + part;
      return order.rank(stage, flat / (t * c), flat / t % c, flat % t);
    };
    for (int part = 0; part < cut; ++part) {
      for (int other = 0; other < others; ++other)
        add(g.expert, group(e, [&](int expert) { return rank(other, expert, part); }));
      for (int expert = 0; expert < e; ++expert)
        add(g.expert_data, group(others, [&](int other) { return rank(other, expert, part); }));
    }
  }
  for (int data = 0; data < d; ++data) {
    for (int context = 0; context < c; ++context) {
      std::vector<int> tensor = group(t, [&](int i) { return order.rank(stage, data, context, i); });
      if (tensor.empty()) continue;
      for (std::vector<int>& copies : order.kv_groups_of(tensor, strategy.kv_replicator))
        add(g.kv, group(static_cast<int>(copies.size()), [&](int i) { return copies[at(i)]; }));
      add(g.tensor, std::move(tensor));
    }
  }
  for (int i = 0; i < t; ++i) {
    const auto rank = [&](int data, int context) { return order.rank(stage, data, context, i); };
    for (int context = 0; context < c; ++context)
      add(g.replicas, group(d, [&](int data) { return rank(data, context); }));
    std::vector<int> sharding = group(d * c, [&](int k) { return rank(k / c, k % c); });
    if (sharding.empty()) continue;  // all others are parts of it
    for (int data = 0; data < d; ++data)
      add(g.context, group(c, [&](int context) { return rank(data, context); }));
    // Expert parallel splits the ranks of CP and DP: neighbours hold different experts. NxD's order is [PP, DP of
    // experts, EP, TP] (parallel_state.py:620-636), Megatron's expert_decoder_rank_generator tp-ep-dp-pp
    // (NVIDIA/Megatron-LM@00caa53a:megatron/core/parallel_state.py).
    const int e = strategy.expert_parallel;
    for (int block = 0; block < d * c / e && e > 1 && !whole_experts; ++block)
      add(g.expert, group(e, [&](int k) { return sharding[at(block * e + k)]; }));
    for (int k = 0; k < e && !whole_experts; ++k)
      add(g.expert_data, group((d * c - k + e - 1) / e, [&](int m) { return sharding[at(k + m * e)]; }));
    if (by_unit || strategy.shard_ranks > 0) {
      const int each = shard_degree(strategy), groups = d * c / each;
      for (int k = 0; k < groups; ++k)
        add(g.shard, group(each, [&](int m) { return sharding[at(k * each + m)]; }));
      for (int k = 0; k < each; ++k)
        add(g.copies, group(groups, [&](int m) { return sharding[at(m * each + k)]; }));
    }
    add(g.data, std::move(sharding));
  }
  return g;
}

Groups StepLayout::pairs_of(int boundary) const {
  return pairs_of(boundary, [](int) { return true; });
}

Groups StepLayout::representative_pairs(int boundary) const {
  return pairs_of(boundary, [&](int rank) { return placement.represents(rank); });
}

template <class Wanted>
Groups StepLayout::pairs_of(int boundary, const Wanted& wanted) const {
  Groups pairs;
  const int above = (boundary + 1) % stages;
  for (int data = 0; data < strategy.data_parallel; ++data) {
    for (int context = 0; context < strategy.context_parallel; ++context) {
      for (int i = 0; i < strategy.tensor_parallel; ++i) {
        const int from = order.rank(boundary, data, context, i), to = order.rank(above, data, context, i);
        if (wanted(from) || wanted(to)) pairs.push_back({from, to});
      }
    }
  }
  return pairs;
}

int StepLayout::boundary_count() const {
  int count = 0;
  for (int part = 0; part + 1 < shape_of(strategy).parts(); ++part) {
    if (const auto link = link_above(strategy, part)) count = std::max(count, link->boundary + 1);
  }
  return count;
}

/// A rank order moves ranks within a node (topology/rank_order.h), so that a shift by whole nodes commutes with it.
bool StepLayout::stages_are_shifted() const {
  return job.cluster.cores() / stages % job.cluster.instance.cores() == 0 && placement.classes() == stages;
}

void StepLayout::add_key(std::vector<int>& key, const Groups& groups, int cls) const {
  key.push_back(-1);
  for (const std::vector<int>& group : groups) {
    if (!touches_representative(group)) continue;
    key.push_back(-2);
    int last = -1;
    for (const int r : group) {
      if (placement.node_of(r) != last) {
        last = placement.node_of(r);
        const int beyond = placement.class_of_node(last) - cls;
        key.push_back(-3 - 2 * std::abs(beyond) - (beyond < 0 ? 1 : 0));
        key.push_back(placement.represents(r) ? 1 : 0);
      }
      key.push_back(placement.local_of(r));
    }
  }
}

}  // namespace trnplan::models
