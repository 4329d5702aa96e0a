#include "models/collective.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace trnplan::models {

using topology::Cluster;
using topology::Placement;

Fabric::Fabric(const Cluster& cluster, const topology::ChipGraph& graph, const Placement& placement,
               const Profile& profile)
    : cluster_(&cluster), graph_(&graph), placement_(&placement), profile_(&profile) {}

Parameter Fabric::parameter_of(Kind kind) {
  switch (kind) {
    case Kind::link:
      return Parameter::link_fraction;
    case Kind::dma:
      return Parameter::dma_fraction;
    case Kind::nic_out:
    case Kind::nic_in:
      return Parameter::efa_fraction;
  }
  return Parameter::count;
}

BytesPerSecond Fabric::capacity(const Key& key) const {
  const topology::Instance& i = cluster_->instance;
  const double share = (*profile_)[parameter_of(key.kind)];
  switch (key.kind) {
    case Kind::link:
      return i.link_per_direction * share;
    case Kind::dma:
      return i.core.dma * share;
    case Kind::nic_out:
    case Kind::nic_in:
      return i.nic * share;
  }
  return {};
}

std::string Fabric::name(const Key& key) {
  const std::string node = "class " + std::to_string(key.cls) + " ";
  switch (key.kind) {
    case Kind::link:
      return node + "link " + std::to_string(key.a) + ">" + std::to_string(key.b);
    case Kind::dma:
      return node + "dma " + std::to_string(key.a);
    case Kind::nic_out:
      return node + "nic " + std::to_string(key.a) + " out";
    case Kind::nic_in:
      return node + "nic " + std::to_string(key.a) + " in";
  }
  return node;
}

const std::vector<std::vector<int>>& Fabric::rings(const std::vector<int>& chips) const {
  const auto [it, fresh] = rings_.try_emplace(chips);
  if (fresh) it->second = graph_->disjoint_rings(chips);
  return it->second;
}

namespace {

/// The algorithm's name and reach by size (internode- and intranode-collective-comm.rst).
constexpr double kMeshBelowBytes = 1024.0 * 1024;          // mesh: one step
constexpr double kHalvingBelowBytes = 56 * 1024.0 * 1024;  // recursive halving-doubling: log2(N) steps

int latency_steps(int members, double bytes) {
  if (members < 2) return 0;
  if (bytes < kMeshBelowBytes) return 1;
  if (bytes < kHalvingBelowBytes) return std::bit_width(static_cast<unsigned>(members - 1));
  return members - 1;
}

/// HBM accesses per byte that passes a rank (half of the published count per chip and two ranks).
struct Accesses {
  double all_gather, reduce_scatter;
};
constexpr Accesses kRing{4.0 / 2, 6.0 / 2};
constexpr Accesses kKangaRing{3.0 / 2, 4.0 / 2};

/// One group's part on one node.
struct LocalPart {
  int cls = 0;
  std::vector<int> cores;
  std::vector<int> chips;  ///< ascending, unique
};

class Loader {
 public:
  Loader(const Fabric& fabric, Collective& out) : fabric_(fabric), out_(out) {}

  /// Bytes that circulate along the rings of the local chips: `bytes` = G * (C-1)/C.
  void ring_traffic(const LocalPart& part, double bytes) {
    if (part.chips.size() < 2) return;
    const auto& rings = fabric_.rings(part.chips);
    if (rings.empty()) return detour_traffic(part, bytes);
    for (const auto& ring : rings) {
      const double per_direction = bytes / (2.0 * static_cast<double>(rings.size()));
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const int a = ring[i], b = ring[(i + 1) % ring.size()];
        link(part.cls, a, b, per_direction);
        link(part.cls, b, a, per_direction);
      }
    }
  }

  /// Without a ring (such a group is refused anyway) each step takes the shortest way.
  void detour_traffic(const LocalPart& part, double bytes) {
    for (std::size_t i = 0; i < part.chips.size(); ++i) {
      const int a = part.chips[i], b = part.chips[(i + 1) % part.chips.size()];
      route_traffic(part.cls, a, b, bytes / 2);
      route_traffic(part.cls, b, a, bytes / 2);
    }
  }

  void route_traffic(int cls, int from, int to, double bytes) {
    const std::vector<int> path = fabric_.graph().route(from, to);
    for (std::size_t i = 0; i + 1 < path.size(); ++i) link(cls, path[i], path[i + 1], bytes);
  }

  void link(int cls, int from, int to, double bytes) { add({Fabric::Kind::link, cls, from, to}, bytes); }
  void dma(int cls, int core, double bytes) { add({Fabric::Kind::dma, cls, core, 0}, bytes); }
  void nic(int cls, int core, double out, double in) {
    const topology::Instance& i = fabric_.cluster().instance;
    if (i.nics == 0) return;  // such a group is refused
    const int n = i.nic_of_chip[static_cast<std::size_t>(i.chip_of(core))];
    add({Fabric::Kind::nic_out, cls, n, 0}, out);
    add({Fabric::Kind::nic_in, cls, n, 0}, in);
  }

 private:
  void add(const Fabric::Key& key, double bytes) {
    if (bytes > 0) out_.load[key] += bytes;
  }
  const Fabric& fabric_;
  Collective& out_;
};

/// The local parts of a group on representative nodes, and how many nodes it touches.
struct Spread {
  std::vector<LocalPart> parts;
  int nodes = 0;
  int ranks_per_node = 0;
};

Spread spread_of(const Fabric& fabric, const std::vector<int>& ranks) {
  const Placement& placement = fabric.placement();
  const topology::Instance& instance = fabric.cluster().instance;
  std::map<int, LocalPart> by_node;
  for (const int r : ranks) by_node[placement.node_of(r)].cores.push_back(placement.local_of(r));
  Spread spread;
  spread.nodes = static_cast<int>(by_node.size());
  spread.ranks_per_node = static_cast<int>(ranks.size()) / spread.nodes;
  for (auto& [node, part] : by_node) {
    part.cls = placement.class_of_node(node);
    if (placement.representative(part.cls) != node) continue;
    for (const int c : part.cores) part.chips.push_back(instance.chip_of(c));
    std::sort(part.chips.begin(), part.chips.end());
    part.chips.erase(std::unique(part.chips.begin(), part.chips.end()), part.chips.end());
    spread.parts.push_back(std::move(part));
  }
  return spread;
}

/// Traffic of `gathers` all-gathers and `scatters` reduce-scatters of `bytes` on one group.
void gather_scatter_load(Loader& loader, const topology::Instance& instance, const Spread& s, double bytes,
                         int gathers, int scatters) {
  const double passes = gathers + scatters;
  for (const LocalPart& part : s.parts) {
    const double local = static_cast<double>(part.cores.size());
    const double chips = static_cast<double>(part.chips.size());
    loader.ring_traffic(part, passes * bytes * (chips - 1) / chips);
    const bool whole_chips = local == chips * instance.cores_per_chip && chips > 1;
    const Accesses& accesses = whole_chips ? kKangaRing : kRing;
    const double circulating = bytes * (whole_chips ? (chips - 1) / chips : (local - 1) / local);
    const double dma = circulating * (gathers * accesses.all_gather + scatters * accesses.reduce_scatter);
    const double through_nic = passes * bytes / local * (s.nodes - 1) / s.nodes;
    for (const int core : part.cores) {
      loader.dma(part.cls, core, dma);
      loader.nic(part.cls, core, through_nic, through_nic);
    }
  }
}

void pair_load(Loader& loader, const Fabric& fabric, const std::vector<int>& pair, double bytes) {
  const Placement& p = fabric.placement();
  const topology::Instance& instance = fabric.cluster().instance;
  const bool same_node = p.node_of(pair[0]) == p.node_of(pair[1]);
  for (int side = 0; side < 2; ++side) {
    const int rank = pair[static_cast<std::size_t>(side)], peer = pair[static_cast<std::size_t>(1 - side)];
    if (!p.represents(rank)) continue;
    const int cls = p.class_of_rank(rank), core = p.local_of(rank);
    loader.dma(cls, core, 2 * bytes);  // read what is sent, write what arrives
    if (same_node) {
      loader.route_traffic(cls, instance.chip_of(core), instance.chip_of(p.local_of(peer)), bytes);
    } else {
      loader.nic(cls, core, bytes, bytes);
    }
  }
}

/// Latency of one group; all groups have equal shape.
void add_latency(Collective& out, const Fabric& fabric, const Spread& s, double bytes, int rounds) {
  const Profile& profile = fabric.profile();
  int chips = 1;
  for (const LocalPart& part : s.parts) chips = std::max(chips, static_cast<int>(part.chips.size()));
  if (s.parts.empty()) chips = s.ranks_per_node;
  const int local_steps = s.ranks_per_node > 1 ? std::max(1, latency_steps(chips, bytes)) : 0;
  const double per_rank = bytes / std::max(1, s.ranks_per_node);
  const int node_steps = latency_steps(s.nodes, per_rank);
  out.alpha = Seconds(profile[Parameter::in_graph_alpha]);
  out.hops = Seconds(rounds * local_steps * profile[Parameter::hop_latency]);
  out.network = Seconds(rounds * node_steps * profile[Parameter::efa_latency]);
}

}  // namespace

Seconds Collective::transfer(const Fabric& fabric) const {
  Seconds worst{};
  for (const auto& [key, bytes] : load) worst = std::max(worst, Bytes(bytes) / fabric.capacity(key));
  return worst;
}

Parameter Collective::bottleneck(const Fabric& fabric) const {
  Seconds worst{};
  Parameter p = Parameter::dma_fraction;
  for (const auto& [key, bytes] : load) {
    const Seconds here = Bytes(bytes) / fabric.capacity(key);
    if (here <= worst) continue;
    worst = here;
    p = Fabric::parameter_of(key.kind);
  }
  return p;
}

Collective collective(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                      Bytes bytes) {
  Collective out;
  Loader loader(fabric, out);
  bool first = true;
  for (const std::vector<int>& ranks : groups) {
    if (ranks.size() < 2) continue;
    const Spread s = spread_of(fabric, ranks);
    const int gathers = op == CollectiveOp::all_gather || op == CollectiveOp::all_reduce ? 1 : 0;
    const int scatters = op == CollectiveOp::reduce_scatter || op == CollectiveOp::all_reduce ? 1 : 0;
    if (op == CollectiveOp::send_recv) {
      pair_load(loader, fabric, ranks, bytes.value);
    } else {
      gather_scatter_load(loader, fabric.cluster().instance, s, bytes.value, gathers, scatters);
    }
    if (first) add_latency(out, fabric, s, bytes.value, std::max(1, gathers + scatters));
    first = false;
  }
  return out;
}

}  // namespace trnplan::models
