#include "topology/verdict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "topology/ring_rules.h"

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

std::string number_list(const std::vector<int>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    if (last < i + 2) last = i;
    text += fmt::format("{}{}", i == 0 ? "" : ", ", numbers[i]);
    if (last > i) text += fmt::format(" to {}", numbers[last]);
    i = last + 1;
  }
  return text;
}

namespace {

/// The part of a group that the rule looks at; it does not depend on the numbers of its ranks.
struct Local {
  std::vector<int> cores;  ///< local cores on the first node, ascending
  std::vector<int> chips;  ///< their chips, ascending, unique
  int nodes = 1;
  bool same_on_every_node = true;
};

Local local_part(const Instance& instance, const std::vector<int>& ranks) {
  const int cores = instance.cores();
  std::vector<int> sorted = ranks;
  if (!std::is_sorted(sorted.begin(), sorted.end())) std::sort(sorted.begin(), sorted.end());
  Local local;
  local.nodes = 0;
  for (std::size_t i = 0; i < sorted.size(); ++local.nodes) {
    const int first = sorted[i] / cores * cores;
    std::size_t n = 0;  // ranks on this node
    for (; i < sorted.size() && sorted[i] - first < cores; ++i, ++n) {
      const int core = sorted[i] - first;
      if (local.nodes == 0) local.cores.push_back(core);
      local.same_on_every_node &= n < local.cores.size() && local.cores[n] == core;
    }
    local.same_on_every_node &= n == local.cores.size();
  }
  for (const int c : local.cores) {
    const int chip = instance.chip_of(c);
    if (local.chips.empty() || local.chips.back() != chip) local.chips.push_back(chip);
  }
  return local;
}

struct Ruling {
  Verdict verdict;
  std::string rule, message, source;
};

/// Rules on a pair of chips. `cores` is "" when each chip holds one rank; else it names the cores of each
/// chip.
Ruling judge_pair_of_chips(const RingRule& rule, const ChipGraph& graph, GroupKind kind, int a, int b,
                           std::string_view cores) {
  const int hops = graph.hops(a, b);
  if (hops == 1 && cores.empty()) {
    return {Verdict::supported, "adjacent-pair", fmt::format("chips {} and {} share a link", a, b),
            rule.sets};
  }
  if (hops == 1) {
    return {Verdict::doubtful, "two-chips",
            fmt::format("{} cores of the two adjacent chips {} and {}: no documented set", cores, a, b),
            rule.two_chips};
  }
  const std::string apart =
      hops < 0 ? fmt::format("chips {} and {} are not connected", a, b)
               : fmt::format("chips {} and {} are {} hops apart: no link joins them, so they form no ring", a,
                             b, hops == 2 ? "two" : std::to_string(hops));
  if (kind == GroupKind::pipeline && hops == 2)
    return {Verdict::doubtful, "two-hop-pair", apart, kSourcePipeline};
  return {Verdict::refused, "not-adjacent", apart, rule.pairs};
}

/// True if every chip holds the same number of the group's cores.
bool evenly_spread(const Instance& instance, const Local& local) {
  std::map<int, std::size_t> count;
  for (const int c : local.cores) ++count[instance.chip_of(c)];
  return std::all_of(count.begin(), count.end(),
                     [&](const auto& n) { return n.second * local.chips.size() == local.cores.size(); });
}

/// The chips that have cores outside the group.
std::vector<int> partial_chips(const Instance& instance, const Local& local) {
  std::map<int, int> count;
  for (const int c : local.cores) ++count[instance.chip_of(c)];
  std::vector<int> partial;
  for (const auto& [chip, cores] : count) {
    if (cores < instance.cores_per_chip) partial.push_back(chip);
  }
  return partial;
}

/// True if the chips form a ring of steps of at most two hops: the mesh 8x8 with LNC 2 has groups of every
/// second chip.
bool is_two_hop_ring(const Instance& instance, const ChipGraph& graph, const std::vector<int>& chips) {
  constexpr std::size_t kRanks = 8;
  if (instance.core.lnc != 2 || chips.size() != kRanks) return false;
  std::vector<Link> steps;
  for (std::size_t a = 0; a < chips.size(); ++a) {
    for (std::size_t b = a + 1; b < chips.size(); ++b) {
      const int hops = graph.hops(chips[a], chips[b]);
      if (hops == 1 || hops == 2) steps.push_back({chips[a], chips[b]});
    }
  }
  return ChipGraph(graph.chips(), steps).ring(chips).has_value();
}

Ruling judge_ring(const RingRule& rule, const Instance& instance, const ChipGraph& graph,
                  const std::vector<int>& chips, bool one_each, bool whole_chips) {
  if (!graph.ring(chips)) {
    const std::string none = fmt::format("chips {} form no ring of neighbours", number_list(chips));
    if (rule.two_hop_rings && one_each && is_two_hop_ring(instance, graph, chips))
      return {Verdict::doubtful, "two-hop-ring", none + ", only one with steps of two hops",
              kSourceTrn2EightByEight};
    return {Verdict::refused, "no-ring", none, rule.pairs};
  }
  if (one_each && !whole_chips && static_cast<int>(chips.size()) > rule.one_rank_each_most) {
    return {Verdict::doubtful, "one-per-chip", fmt::format("one rank on each of {} chips", chips.size()),
            kSourceOnePerChip};
  }
  return {Verdict::supported, "ring", fmt::format("chips {} form a ring", number_list(chips)), rule.sets};
}

/// Rules on the part of a group inside a node.
Ruling judge_local(const RingRule& rule, const Instance& instance, const ChipGraph& graph, GroupKind kind,
                   const Local& local) {
  const auto& chips = local.chips;
  if (local.cores.size() == 1 && local.nodes > 1) {
    return {Verdict::supported, "one-rank", fmt::format("one rank on each of {} nodes", local.nodes),
            rule.sets};
  }
  if (chips.size() == 1) {
    return {Verdict::supported, local.cores.size() == 1 ? "one-rank" : "one-chip",
            fmt::format("stays inside chip {}", chips[0]), rule.sets};
  }
  const bool one_each = local.cores.size() == chips.size();
  const bool whole_chips =
      local.cores.size() == chips.size() * static_cast<std::size_t>(instance.cores_per_chip);
  if (!one_each && !whole_chips && !(rule.even_shares && evenly_spread(instance, local))) {
    const std::vector<int> partial = partial_chips(instance, local);
    return {Verdict::refused, "partial-chips",
            partial.size() == 1 ? fmt::format("only some cores of chip {} take part", partial.front())
                                : fmt::format("only some cores of chips {} take part", number_list(partial)),
            rule.sets};
  }
  if (chips.size() == 2) {
    const std::string_view cores = one_each ? "" : whole_chips ? "all" : "some";
    return judge_pair_of_chips(rule, graph, kind, chips[0], chips[1], cores);
  }
  return judge_ring(rule, instance, graph, chips, one_each, whole_chips);
}

/// A ruling on the first rank that passes on to a chip of its node that has no link to its own chip; nullopt
/// if there is none.
std::optional<Ruling> judge_permute(const Instance& instance, const ChipGraph& graph,
                                    const std::vector<int>& ranks) {
  const int cores = instance.cores();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int from = ranks[i], to = ranks[(i + 1) % ranks.size()];
    const int a = instance.chip_of(from % cores), b = instance.chip_of(to % cores);
    if (from / cores != to / cores || a == b || graph.adjacent(a, b)) continue;
    return Ruling{
        Verdict::refused, "permute",
        fmt::format("rank {} passes on to rank {}, but chips {} and {} share no link", from, to, a, b),
        kSourcePermute};
  }
  return std::nullopt;
}

Ruling judge_rings(const RingRule& rule, const Cluster& cluster, const ChipGraph& graph, GroupKind kind,
                   const std::vector<int>& ranks, const Local& local) {
  if (local.nodes > 1 && cluster.instance.nics == 0) {
    return {Verdict::refused, "no-efa", fmt::format("{} has no EFA device", cluster.instance.name),
            kSourceNoEfa};
  }
  if (local.same_on_every_node) {
    Ruling ruling = judge_local(rule, cluster.instance, graph, kind, local);
    if (kind != GroupKind::context || ruling.verdict == Verdict::refused) return ruling;
    return judge_permute(cluster.instance, graph, ranks).value_or(std::move(ruling));
  }
  if (kind == GroupKind::pipeline) {
    const int cores = cluster.instance.cores();
    return {Verdict::doubtful, "unequal-positions",
            fmt::format("core {} of one node and core {} of the next: different local positions",
                        ranks[0] % cores, ranks[1] % cores),
            kSourcePipeline};
  }
  return {Verdict::refused, "unequal-nodes", "its nodes hold different local cores", kSourceNodes};
}

/// Rules on devices behind a switch: all reach each other equally, so only a missing network refuses a group.
Ruling judge_any(const Cluster& cluster, const Local& local) {
  constexpr const char* kSource = "a switch joins every device with every other (the instance's links)";
  const std::size_t devices = local.chips.size();
  if (local.nodes > 1 && cluster.instance.nics == 0) {
    return {Verdict::refused, "no-efa", fmt::format("{} has no network device", cluster.instance.name),
            kSource};
  }
  if (local.cores.size() == 1) return {Verdict::supported, "one-rank", "one rank on a node", kSource};
  if (devices == 1)
    return {Verdict::supported, "one-chip",
            fmt::format("stays inside {} {}", chip_word(cluster.instance), local.chips[0]), kSource};
  return {Verdict::supported, "switch",
          fmt::format("{} {}s on a switch", devices, chip_word(cluster.instance)), kSource};
}

/// Rules where the links are known but the runtime's use of them is not.
Ruling judge_unpublished(const Cluster& cluster, const Local& local) {
  constexpr const char* kSource = "no list of groups was found for this machine (catalog/instances)";
  if (local.nodes == 1 && local.cores.size() == 1)
    return {Verdict::supported, "one-rank", "one rank on a node", kSource};
  if (local.nodes == 1 && local.chips.size() == 1)
    return {Verdict::supported, "one-chip", fmt::format("stays inside chip {}", local.chips[0]), kSource};
  return {Verdict::refused, "not-published",
          fmt::format("it is not published which groups across chips the runtime accepts on {}",
                      cluster.instance.name),
          kSource};
}

/// Rules by the rule that the instance's traits name.
Ruling judge_ruling(const Cluster& cluster, const ChipGraph& graph, GroupKind kind,
                    const std::vector<int>& ranks, const Local& local) {
  switch (cluster.instance.traits.groups) {
    case GroupRule::torus_ring:
      break;
    case GroupRule::logic2_mesh:
      return judge_rings(kLogic2Mesh, cluster, graph, kind, ranks, local);
    case GroupRule::any_group:
      return judge_any(cluster, local);
    case GroupRule::not_published:
      return judge_unpublished(cluster, local);
  }
  return judge_rings(kTorusRing, cluster, graph, kind, ranks, local);
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
          std::move(r.source)};
}

namespace {

/// The rulings on groups of one kind. Groups that are alike up to the nodes they occupy get the same ruling.
class Rulings {
 public:
  Rulings(const Cluster& cluster, const ChipGraph& graph, GroupKind kind)
      : cluster_(cluster),
        graph_(graph),
        kind_(kind),
        cores_(cluster.instance.cores()),
        by_first_(static_cast<std::size_t>(cores_)) {}

  const GroupVerdict& of(const std::vector<int>& ranks) {
    std::vector<GroupVerdict>& known = by_first_[static_cast<std::size_t>(ranks.front() % cores_)];
    for (const GroupVerdict& ruling : known) {
      if (alike(ruling.ranks, ranks)) return ruling;
    }
    return known.emplace_back(judge(cluster_, graph_, kind_, ranks));
  }

 private:
  /// True if the groups, of which the first ranks are the same core of a node, differ only by a shift of whole nodes.
  static bool alike(const std::vector<int>& a, const std::vector<int>& b) {
    if (a.size() != b.size()) return false;
    const int shift = b.front() - a.front();
    for (std::size_t i = 1; i < a.size(); ++i) {
      if (b[i] - a[i] != shift) return false;
    }
    return true;
  }

  const Cluster& cluster_;
  const ChipGraph& graph_;
  GroupKind kind_;
  int cores_;
  /// By the core of the first rank; with the ranks that were judged.
  std::vector<std::vector<GroupVerdict>> by_first_;
};

/// Calls `visit` with the verdict on every group, which `groups_of(kind)` lists.
template <class GroupsOf, class Visit>
void judge_groups(const Cluster& cluster, const ChipGraph& graph, GroupsOf&& groups_of, Visit&& visit) {
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::kv_replicas, GroupKind::context, GroupKind::data,
                               GroupKind::pipeline}) {
    Rulings rulings(cluster, graph, kind);
    auto groups = groups_of(kind);
    for (std::vector<int>& ranks : groups) {
      const GroupVerdict& ruling = rulings.of(ranks);
      visit(ruling, std::move(ranks));
    }
  }
}

void note_worst(PlacementVerdict& result, const GroupVerdict& group) {
  if (group.verdict <= result.overall) return;
  result.overall = group.verdict;
  result.offending = group;
}

/// True if judge_any() supports every group.
bool supports_all(const Cluster& cluster) {
  return cluster.instance.traits.groups == GroupRule::any_group && cluster.instance.nics > 0;
}

}  // namespace

PlacementVerdict judge_all(const Cluster& cluster, const ChipGraph& graph, const RankOrder& order,
                           int kv_replicas) {
  const auto groups_of = [&](GroupKind kind) {
    return kind == GroupKind::kv_replicas ? order.kv_groups(kv_replicas) : order.groups(kind);
  };
  PlacementVerdict result;
  judge_groups(cluster, graph, groups_of, [&](const GroupVerdict& ruling, std::vector<int> ranks) {
    GroupVerdict group = ruling;
    group.ranks = std::move(ranks);
    note_worst(result, group);
    result.groups.push_back(std::move(group));
  });
  return result;
}

PlacementVerdict judge_worst(const Cluster& cluster, const ChipGraph& graph, const RankOrder& order,
                             int kv_replicas) {
  if (supports_all(cluster) && order.has_kv_groups(kv_replicas)) return {};
  const auto groups_of = [&](GroupKind kind) {
    const int cores = cluster.instance.cores();
    if (kind != GroupKind::kv_replicas) return order.distinct_groups(kind, cores);
    return order.kv_groups_in(order.distinct_groups(GroupKind::tensor, cores), kv_replicas);
  };
  PlacementVerdict result;
  judge_groups(cluster, graph, groups_of,
               [&](const GroupVerdict& ruling, const std::vector<int>&) { note_worst(result, ruling); });
  return result;
}

std::vector<KindVerdict> by_kind(const ChipGraph& graph, const PlacementVerdict& verdict) {
  std::vector<KindVerdict> kinds;
  std::map<std::vector<int>, std::vector<std::vector<int>>> rings;
  for (const GroupVerdict& g : verdict.groups) {
    const auto [known, fresh] =
        rings.try_emplace(g.kind == GroupKind::pipeline ? std::vector<int>{} : g.chips);
    if (fresh) known->second = graph.disjoint_rings(known->first);
    if (kinds.empty() || kinds.back().kind != g.kind)
      kinds.push_back({g.kind, 0, static_cast<int>(g.ranks.size()), g, known->second});
    KindVerdict& kind = kinds.back();
    ++kind.groups;
    if (g.verdict > kind.worst.verdict) kind.worst = g;
    if (known->second.size() < kind.rings.size()) kind.rings = known->second;
  }
  return kinds;
}

}  // namespace trnplan::topology
