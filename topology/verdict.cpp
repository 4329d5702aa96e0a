#include "topology/verdict.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trnplan::topology {

std::string_view to_string(Verdict v) {
  switch (v) {
    case Verdict::supported:
      return "supported";
    case Verdict::doubtful:
      return "doubtful";
    case Verdict::refused:
      return "refused";
  }
  return "?";
}

namespace {

constexpr int kMostChipsWithOneRankEach = 4;

constexpr const char* kEvidenceSets =
    "AWS documents sets of 2, 8 and 32 ranks on trn1.32xlarge (aws-neuron/aws-neuron-sdk@89a72682 "
    "general/arch/neuron-features/collective-communication.rst)";
constexpr const char* kEvidencePairs =
    "pairs must form a ring with direct physical links (aws-neuron/aws-neuron-sdk@81ce03ae "
    "neuron-runtime/about/collectives.rst); TP 16 x DP 2 was refused by the runtime on trn1.32xlarge "
    "(tutorial \"LLM "
    "training with AWS Neuronx-distributed-training\", 2026-01-17)";
constexpr const char* kEvidenceOnePerChip =
    "reports disagree: refused for 8 chips in huggingface/optimum-neuron issue 761, where EFA was off; a "
    "ring exists";
constexpr const char* kEvidencePipeline =
    "the shipped Llama-2 70B config (TP 8, PP 16, DP 2; aws-neuron/neuronx-distributed-training "
    "examples/conf/"
    "megatron_llama_70b_config.yaml) has such pairs and is published as run";
constexpr const char* kEvidenceTwoChips =
    "four adjacent cores as a group since December 2024 (aws-neuron/aws-neuron-sdk@1db4d74e "
    "release-notes/runtime)";
constexpr const char* kEvidenceNodes =
    "each node must hold the same number of ranks at the same local positions "
    "(aws-neuron/aws-neuron-sdk@81ce03ae "
    "neuron-runtime/explore/internode-collective-comm.rst)";

/// The part of a group that does not depend on which ranks these are: what the rule looks at.
struct Local {
  std::vector<int> cores;  ///< local cores on the first node, ascending
  std::vector<int> chips;  ///< their chips, ascending, unique
  int nodes = 1;
  bool same_on_every_node = true;
};

Local local_part(const Instance& instance, const std::vector<int>& ranks) {
  std::map<int, std::vector<int>> by_node;
  for (const int r : ranks) by_node[r / instance.cores()].push_back(r % instance.cores());
  for (auto& [node, cores] : by_node) std::sort(cores.begin(), cores.end());
  Local local;
  local.nodes = static_cast<int>(by_node.size());
  local.cores = by_node.begin()->second;
  local.same_on_every_node =
      std::all_of(by_node.begin(), by_node.end(), [&](const auto& n) { return n.second == local.cores; });
  for (const int c : local.cores) local.chips.push_back(instance.chip_of(c));
  local.chips.erase(std::unique(local.chips.begin(), local.chips.end()), local.chips.end());
  return local;
}

struct Ruling {
  Verdict verdict;
  std::string rule, message, evidence;
};

Ruling judge_pair_of_chips(const ChipGraph& graph, GroupKind kind, int a, int b, bool whole_chips) {
  const int hops = graph.hops(a, b);
  if (hops == 1 && !whole_chips) {
    return {Verdict::supported, "adjacent-pair", fmt::format("chips {} and {} share a link", a, b),
            kEvidenceSets};
  }
  if (hops == 1) {
    return {Verdict::doubtful, "two-chips",
            fmt::format("all cores of the two adjacent chips {} and {}: no documented set", a, b),
            kEvidenceTwoChips};
  }
  const std::string apart =
      hops < 0 ? fmt::format("chips {} and {} are not connected", a, b)
               : fmt::format("chips {} and {} are {} hops apart: no link joins them, so they form no ring", a,
                             b, hops == 2 ? "two" : std::to_string(hops));
  if (kind == GroupKind::pipeline && hops == 2)
    return {Verdict::doubtful, "two-hop-pair", apart, kEvidencePipeline};
  return {Verdict::refused, "not-adjacent", apart, kEvidencePairs};
}

Ruling judge_local(const Instance& instance, const ChipGraph& graph, GroupKind kind, const Local& local) {
  const auto& chips = local.chips;
  if (chips.size() == 1) {
    return {Verdict::supported, local.cores.size() == 1 ? "one-rank" : "one-chip",
            fmt::format("stays inside chip {}", chips[0]), kEvidenceSets};
  }
  const bool one_each = local.cores.size() == chips.size();
  const bool whole_chips =
      local.cores.size() == chips.size() * static_cast<std::size_t>(instance.cores_per_chip);
  if (!one_each && !whole_chips) {
    return {Verdict::refused, "partial-chips",
            fmt::format("chips {} take part with some of their cores only", fmt::join(chips, ", ")),
            kEvidenceSets};
  }
  if (chips.size() == 2)
    return judge_pair_of_chips(graph, kind, chips[0], chips[1], whole_chips && !one_each);
  if (!graph.ring(chips)) {
    return {Verdict::refused, "no-ring",
            fmt::format("chips {} form no ring of neighbours", fmt::join(chips, ", ")), kEvidencePairs};
  }
  if (one_each && !whole_chips && static_cast<int>(chips.size()) > kMostChipsWithOneRankEach) {
    return {Verdict::doubtful, "one-per-chip", fmt::format("one rank on each of {} chips", chips.size()),
            kEvidenceOnePerChip};
  }
  return {Verdict::supported, "ring", fmt::format("chips {} form a ring", fmt::join(chips, ", ")),
          kEvidenceSets};
}

Ruling judge_ruling(const Cluster& cluster, const ChipGraph& graph, GroupKind kind,
                    const std::vector<int>& ranks, const Local& local) {
  if (local.nodes > 1 && cluster.instance.nics == 0) {
    return {Verdict::refused, "no-efa", fmt::format("{} has no EFA device", cluster.instance.name),
            kEvidenceSets};
  }
  if (local.same_on_every_node) return judge_local(cluster.instance, graph, kind, local);
  if (kind == GroupKind::pipeline) {
    const int cores = cluster.instance.cores();
    return {Verdict::doubtful, "unequal-positions",
            fmt::format("core {} of one node and core {} of the next: different local positions",
                        ranks[0] % cores, ranks[1] % cores),
            kEvidencePipeline};
  }
  return {Verdict::refused, "unequal-nodes", "its nodes hold different local cores", kEvidenceNodes};
}

}  // namespace

GroupVerdict judge(const Cluster& cluster, const ChipGraph& graph, GroupKind kind,
                   const std::vector<int>& ranks) {
  const Local local = local_part(cluster.instance, ranks);
  Ruling r = judge_ruling(cluster, graph, kind, ranks, local);
  return {kind,
          ranks,
          local.chips,
          local.nodes,
          r.verdict,
          std::move(r.rule),
          std::move(r.message),
          std::move(r.evidence)};
}

namespace {

/// Calls `visit` with the verdict on every group.
template <class Visit>
void judge_groups(const Cluster& cluster, const ChipGraph& graph, const RankOrder& order, int kv_replicas,
                  Visit&& visit) {
  const int cores = cluster.instance.cores();
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::kv_replicas, GroupKind::context, GroupKind::data,
                               GroupKind::pipeline}) {
    // Groups that look alike up to which nodes they sit on get the same ruling.
    std::map<std::vector<int>, GroupVerdict> known;
    auto groups = kind == GroupKind::kv_replicas ? order.kv_groups(kv_replicas) : order.groups(kind);
    for (std::vector<int>& ranks : groups) {
      std::vector<int> shape;
      for (const int r : ranks) {
        shape.push_back(r / cores - ranks.front() / cores);
        shape.push_back(r % cores);
      }
      const auto [it, fresh] = known.try_emplace(std::move(shape));
      if (fresh) it->second = judge(cluster, graph, kind, ranks);
      visit(it->second, std::move(ranks));
    }
  }
}

void note_worst(PlacementVerdict& result, const GroupVerdict& group) {
  if (group.verdict <= result.overall) return;
  result.overall = group.verdict;
  result.offending = group;
}

}  // namespace

PlacementVerdict judge_all(const Cluster& cluster, const ChipGraph& graph, const RankOrder& order,
                           int kv_replicas) {
  PlacementVerdict result;
  judge_groups(cluster, graph, order, kv_replicas, [&](const GroupVerdict& ruling, std::vector<int> ranks) {
    GroupVerdict group = ruling;
    group.ranks = std::move(ranks);
    note_worst(result, group);
    result.groups.push_back(std::move(group));
  });
  return result;
}

PlacementVerdict judge_worst(const Cluster& cluster, const ChipGraph& graph, const RankOrder& order,
                             int kv_replicas) {
  PlacementVerdict result;
  judge_groups(cluster, graph, order, kv_replicas,
               [&](const GroupVerdict& ruling, const std::vector<int>&) { note_worst(result, ruling); });
  return result;
}

}  // namespace trnplan::topology
