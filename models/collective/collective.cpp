#include "models/collective/collective.h"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "models/collective/collective_memory.h"
#include "models/collective/collective_runtime.h"
#include "models/device/devices.h"
#include "sim/exchange.h"
#include "units/index.h"

namespace trnplan::models {

namespace {

/// The resources that a message's bytes use: calls `add(resource, bytes)` for each. Each end of a message
/// between nodes uses its own node's resources.
class Wiring {
 public:
  explicit Wiring(const Fabric& fabric)
      : fabric_(fabric),
        instance_(fabric.cluster().instance),
        nics_use_memory_(device_of(instance_.core).nics_use_message_memory()) {}

  template <class Add>
  void inside(int cls, const Relation& r, int from_core, int to_core, Add&& add) const {
    add(fabric_.memory(cls, from_core), r.bytes * r.read);
    add(fabric_.memory(cls, to_core), r.bytes * r.written);
    const int from = instance_.chip_of(from_core), to = instance_.chip_of(to_core);
    if (from == to) return;
    if (const Fabric::Id id = fabric_.link(cls, from, to); id < fabric_.size()) return add(id, r.bytes);
    const auto legs = [&](const std::vector<Fabric::Leg>& way) {
      if (way.empty()) add(fabric_.unreachable(), r.bytes);
      for (const auto& leg : way) add(fabric_.link(cls, leg.from, leg.to), r.bytes * leg.part);
    };
    if (r.spread) return legs(fabric_.spread(from, to));
    legs(fabric_.route(from, to));
  }
  template <class Add>
  void out(int cls, const Relation& r, int core, double copies, Add&& add) const {
    if (nics_use_memory_) add(fabric_.memory(cls, core), r.bytes * r.read * copies);
    add(instance_.nics > 0 ? fabric_.nic(cls, core, Fabric::Kind::nic_out) : fabric_.unreachable(),
        r.bytes * copies);
    if (fabric_.has_spine()) add(fabric_.spine(cls, Fabric::Kind::spine_out), r.bytes * copies);
  }
  template <class Add>
  void in(int cls, const Relation& r, int core, double copies, Add&& add) const {
    if (nics_use_memory_) add(fabric_.memory(cls, core), r.bytes * r.written * copies);
    add(instance_.nics > 0 ? fabric_.nic(cls, core, Fabric::Kind::nic_in) : fabric_.unreachable(),
        r.bytes * copies);
    if (fabric_.has_spine()) add(fabric_.spine(cls, Fabric::Kind::spine_in), r.bytes * copies);
  }

 private:
  const Fabric& fabric_;
  const topology::Instance& instance_;
  bool nics_use_memory_;
};

/// Adds up bytes per resource, and keeps the most that one group puts on any. Memory: of the blocks of
/// resources that are used, since a message of one node of thousands uses few.
class Sum {
 public:
  explicit Sum(Fabric::Id resources) : resources_(resources), blocks_(resources / kBlock + 1) {}
  void begin_group() { ++groups_; }
  void add(Fabric::Id id, double bytes) {
    Cell& c = cell(id);
    if (c.bytes == 0 && bytes > 0) used_.push_back(id);
    c.bytes += bytes;
    c.mine = c.group == groups_ ? c.mine + bytes : bytes;
    c.group = groups_;
    scale_ = std::max(scale_, c.mine);
    most_ = std::max(most_, c.bytes);
  }
  /// The load of one group; never less than the engine assumes for the sum.
  double scale() const { return std::max(scale_, most_ / sim::kMostFlowsInOne); }
  Fabric::Load load() {
    Fabric::Load load;
    load.reserve(used_.size());
    if (used_.size() * 8 > resources_) {
      for (Fabric::Id id = 0; id < resources_; ++id) {
        if (const double bytes = cell(id).bytes; bytes > 0) load.emplace_back(id, bytes);
      }
      return load;
    }
    std::sort(used_.begin(), used_.end());
    for (const Fabric::Id id : used_) load.emplace_back(id, cell(id).bytes);
    return load;
  }

 private:
  struct Cell {
    double bytes = 0, mine = 0;  ///< of all groups; of `group` alone
    int group = 0;
  };
  static constexpr Fabric::Id kBlock = 128;

  Cell& cell(Fabric::Id id) {
    std::vector<Cell>& block = blocks_[id / kBlock];
    if (block.empty()) block.resize(kBlock);
    return block[id % kBlock];
  }

  Fabric::Id resources_;
  std::vector<std::vector<Cell>> blocks_;
  int groups_ = 0;
  double scale_ = 0, most_ = 0;
  std::vector<Fabric::Id> used_;
};

/// Cores of a group on one of its nodes, ascending.
struct NodeCores {
  int node;
  std::vector<int> cores;
};

/// Cores of a group on each of its nodes, or on the representatives among them, in the order of
/// GroupShape::nodes.
std::vector<NodeCores> cores_by_node(const Fabric& fabric, const GroupShape& shape,
                                     const std::vector<int>& ranks, bool representatives_only) {
  const topology::Placement& placement = fabric.placement();
  std::vector<NodeCores> all;
  for (const int node : shape.nodes) {
    if (representatives_only && placement.representative(placement.class_of_node(node)) != node) continue;
    all.push_back({node, {}});
    all.back().cores.reserve(shape.cores.size());
  }
  int last = -1;
  NodeCores* mine = nullptr;
  std::size_t next = 0;  // ranks mostly go through the nodes in their order
  for (const int r : ranks) {
    if (const int node = placement.node_of(r); node != last) {
      last = node;
      if (next >= all.size() || all[next].node != node) {
        next = 0;
        while (next < all.size() && all[next].node != node) ++next;
      }
      mine = next < all.size() ? &all[next++] : nullptr;
    }
    if (mine != nullptr) mine->cores.push_back(placement.local_of(r));
  }
  for (NodeCores& n : all) std::sort(n.cores.begin(), n.cores.end());
  return all;
}

/// Adds the loads of one group's stages, on the representatives among its nodes.
void add_loads(const Fabric& fabric, const GroupShape& shape, const std::vector<int>& ranks,
               const Description& description, std::vector<Sum>& sums) {
  const Wiring wiring(fabric);
  for (Sum& sum : sums) sum.begin_group();
  for (const NodeCores& on : cores_by_node(fabric, shape, ranks, true)) {
    const std::size_t count = on.cores.size();
    if (count == 0) continue;
    const int cls = fabric.placement().class_of_node(on.node);
    // A group whose nodes differ is refused or doubtful; here its members are taken in turn.
    const auto core = [&](int member) {
      return on.cores[at(member) < count ? at(member) : at(member) % count];
    };
    for (std::size_t s = 0; s < description.stages.size(); ++s) {
      const Stage& stage = description.stages[s];
      const auto steps = static_cast<double>(stage.steps);
      const auto add = [&](Fabric::Id id, double bytes) { sums[s].add(id, bytes * steps); };
      for (const Relation& r : stage.relations) {
        if (r.node == Relation::Node::same) {
          wiring.inside(cls, r, core(r.from), core(r.to), add);
          continue;
        }
        const double copies = r.node == Relation::Node::others ? shape.node_count() - 1 : 1;
        wiring.out(cls, r, core(r.from), copies, add);
        wiring.in(cls, r, core(r.to), copies, add);
      }
    }
  }
}

/// The latency of a stage's steps, along the path of one chunk.
Phase phase_of(const Fabric& fabric, const CollectiveLoads::Steps& stage) {
  const Latencies by = fabric.runtime().latencies(fabric.profile(), stage.protocol);
  const double hop = by.step, efa = by.between + stage.network_more;
  const std::int64_t network = efa < hop ? stage.between_nodes_least : stage.between_nodes;
  return {{},
          0,
          stage.steps,
          Seconds(hop * static_cast<double>(stage.steps - network)),
          Seconds(efa * static_cast<double>(network))};
}

/// Size for which loads are added up where they are in proportion to it: whatever size is asked for, they are
/// then the same to the last bit.
constexpr Bytes kUnit = gibibytes(1);

/// The loads in proportion to that many bytes.
CollectiveLoads scaled(CollectiveLoads loads, Bytes bytes) {
  if (loads.of == bytes) return loads;
  const double factor = bytes / loads.of;
  loads.of = bytes;
  for (CollectiveLoads::Phase& p : loads.phases) {
    for (auto& [id, load] : p.load) load *= factor;
    p.scale *= factor;
  }
  return loads;
}

/// The loads of `bytes` or, where they are in proportion to it, of a unit.
CollectiveLoads loads_or_unit(const Fabric& fabric, CollectiveOp op,
                              const std::vector<std::vector<int>>& groups, Bytes bytes, Algorithm algorithm) {
  CollectiveLoads out;
  out.of = bytes;
  std::vector<Sum> sums;
  for (const std::vector<int>& ranks : groups) {
    if (ranks.size() < 2) continue;
    const GroupShape shape = shape_of(fabric.cluster(), ranks);
    const auto choice =
        bytes.value > 0 ? fabric.runtime().choice(fabric, op, shape, bytes, algorithm) : std::nullopt;
    if (choice) out.of = kUnit;
    Description description = choice ? fabric.runtime().describe(fabric, op, shape, kUnit, *choice)
                                     : describe(fabric, op, shape, bytes, algorithm);
    while (sums.size() < description.stages.size()) sums.emplace_back(fabric.size());
    add_loads(fabric, shape, ranks, description, sums);
    if (out.phases.empty()) out.algorithm = std::move(description.algorithm);
    out.protocol = description.protocol;
    out.phases.resize(sums.size());
    for (std::size_t s = 0; s < description.stages.size(); ++s) {
      const Stage& stage = description.stages[s];
      const CollectiveLoads::Steps steps{stage.steps, stage.between_nodes, stage.between_nodes_least,
                                         stage.protocol, stage.network_more};
      auto& known = out.phases[s].steps;
      if (std::find(known.begin(), known.end(), steps) == known.end()) known.push_back(steps);
    }
  }
  for (std::size_t s = 0; s < out.phases.size(); ++s) {
    out.phases[s].load = sums[s].load();
    out.phases[s].scale = sums[s].scale();
  }
  return out;
}

CollectiveLoads loads_of(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                         Bytes bytes, Algorithm algorithm) {
  return scaled(loads_or_unit(fabric, op, groups, bytes, algorithm), bytes);
}

/// The collective with the times of the fabric's profile.
Collective timed(const Fabric& fabric, CollectiveLoads loads) {
  Collective out;
  out.algorithm = std::move(loads.algorithm);
  if (loads.phases.empty()) return out;
  out.alpha = Seconds(fabric.runtime().latencies(fabric.profile(), loads.protocol).start);
  for (CollectiveLoads::Phase& p : loads.phases) {
    Phase longest = phase_of(fabric, p.steps.front());
    for (const CollectiveLoads::Steps& other : p.steps) {
      Phase phase = phase_of(fabric, other);
      if (phase.latency() > longest.latency()) longest = std::move(phase);
    }
    longest.load = std::move(p.load);
    longest.scale = p.scale;
    out.phases.push_back(std::move(longest));
  }
  return out;
}

/// Seconds that each message of a stage waits before it moves: one step. In a ring that leaves nodes it is
/// the smaller of the two latencies; messages that take longer are in flight for the rest (`flight_of`).
double start_of(const Fabric& fabric, const Stage& stage) {
  const Latencies by = fabric.runtime().latencies(fabric.profile(), stage.protocol);
  const double efa = by.between + stage.network_more;
  if (stage.mixed()) return std::min(by.step, efa);
  return stage.between_nodes > 0 ? efa : by.step;
}
double flight_of(const Fabric& fabric, const Stage& stage, bool between_nodes) {
  if (!stage.mixed()) return 0;
  const Latencies by = fabric.runtime().latencies(fabric.profile(), stage.protocol);
  return (between_nodes ? by.between + stage.network_more : by.step) - start_of(fabric, stage);
}

/// Visits the nodes (by index) that a relation sends to from node `n`.
template <class Visit>
void each_peer(const Relation& r, int n, int nodes, Visit&& visit) {
  switch (r.node) {
    case Relation::Node::same:
      return visit(n);
    case Relation::Node::shift:
      return visit((n + r.by) % nodes);
    case Relation::Node::flip:
      return visit(n ^ r.by);
    case Relation::Node::others:
      for (int other = 0; other < nodes; ++other) {
        if (other != n) visit(other);
      }
  }
}

}  // namespace

Phase::Busiest Phase::busiest(const Fabric& fabric) const {
  Seconds most{};
  Fabric::Id where = fabric.memory(0, 0);
  for (const auto& [id, bytes] : load) {
    const Seconds here = Bytes(bytes) / fabric.capacity(id);
    if (here <= most) continue;
    most = here;
    where = id;
  }
  return {most, fabric.parameter(where)};
}

Seconds Collective::latency() const {
  Seconds sum = alpha;
  for (const Phase& p : phases) sum += p.latency();
  return sum;
}

Seconds Collective::transfer(const Fabric& fabric) const {
  Seconds sum{};
  for (const Phase& p : phases) sum += p.transfer(fabric);
  return sum;
}

Collective collective(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                      Bytes bytes, Algorithm algorithm) {
  if (fabric.memory() == nullptr) return timed(fabric, loads_of(fabric, op, groups, bytes, algorithm));
  return timed(fabric, fabric.memory()->of(fabric, op, groups, bytes, algorithm));
}

const CollectiveLoads& CollectiveMemory::of(const Fabric& fabric, CollectiveOp op,
                                            const std::vector<std::vector<int>>& groups, Bytes bytes,
                                            Algorithm algorithm) {
  if (fabric.profile().algorithms != limits_) {
    known_.clear();
    of_groups_.clear();
  }
  limits_ = fabric.profile().algorithms;
  const auto found = known_.find(std::tie(op, algorithm, bytes.value, groups));
  if (found != known_.end()) return found->second;
  CollectiveLoads loads = algorithm == Algorithm::automatic ? of_groups_[groups].of(fabric, op, groups, bytes)
                                                            : loads_of(fabric, op, groups, bytes, algorithm);
  return known_.emplace(Key{op, algorithm, bytes.value, groups}, std::move(loads)).first->second;
}

CollectiveLoads ScaledLoads::of(const Fabric& fabric, CollectiveOp op,
                                const std::vector<std::vector<int>>& groups, Bytes bytes) {
  if (shapes_.empty()) {
    for (const std::vector<int>& ranks : groups) {
      if (ranks.size() < 2) continue;
      const auto like = [](const GroupShape& a, const GroupShape& b) {
        return a.node_count() == b.node_count() && a.local() == b.local() && a.chips.size() == b.chips.size();
      };
      GroupShape shape = shape_of(fabric.cluster(), ranks);
      if (std::none_of(shapes_.begin(), shapes_.end(), [&](const auto& known) { return like(known, shape); }))
        shapes_.push_back(std::move(shape));
    }
  }
  std::vector<AlgorithmChoice> choices;
  for (const GroupShape& shape : shapes_) {
    const auto choice = fabric.runtime().choice(fabric, op, shape, bytes, Algorithm::automatic);
    if (!choice || bytes.value <= 0) return loads_of(fabric, op, groups, bytes, Algorithm::automatic);
    choices.push_back(*choice);
  }
  const auto [it, fresh] = of_unit_.try_emplace({op, std::move(choices)});
  if (fresh) it->second = loads_or_unit(fabric, op, groups, bytes, Algorithm::automatic);
  return scaled(it->second, bytes);
}

Collective collective(const Fabric& fabric, CollectiveOp op, const std::vector<std::vector<int>>& groups,
                      Bytes bytes, ScaledLoads& memory) {
  return timed(fabric, memory.of(fabric, op, groups, bytes));
}

Seconds barrier_of(const Fabric& fabric, bool between_nodes) {
  const Parameter barrier = fabric.runtime().parameters().barrier;
  return Seconds(between_nodes && barrier ? fabric.profile()[barrier] : 0);
}

Seconds nccom_seconds(const Fabric& fabric, const Collective& c, bool between_nodes) {
  const Profile& p = fabric.profile();
  return c.seconds(fabric) + Seconds(p[common::host_launch]) + barrier_of(fabric, between_nodes);
}

namespace {

/// True if the group is on every node of the cluster, in their order, as the resources of a flat placement
/// are.
bool is_whole_cluster(const Fabric& fabric, const GroupShape& shape) {
  if (shape.node_count() != fabric.cluster().nodes) return false;
  for (int n = 0; n < shape.node_count(); ++n) {
    if (shape.nodes[at(n)] != n || fabric.placement().class_of_node(n) != n) return false;
  }
  return true;
}

}  // namespace

std::vector<sim::Exchange> expand(const Fabric& fabric, CollectiveOp op,
                                  const std::vector<std::vector<int>>& groups, Bytes bytes,
                                  Algorithm algorithm) {
  std::vector<sim::Exchange> exchanges;
  const Wiring wiring(fabric);
  for (const std::vector<int>& ranks : groups) {
    const GroupShape shape = shape_of(fabric.cluster(), ranks);
    const auto cores = cores_by_node(fabric, shape, ranks, false);
    for (const NodeCores& on : cores) {
      if (on.cores.size() != shape.cores.size()) {
        throw std::invalid_argument("a group must hold equally many cores on each of its nodes");
      }
    }
    const Description description = describe(fabric, op, shape, bytes, algorithm);
    int channels = 1;
    for (const Stage& stage : description.stages) {
      for (const Relation& r : stage.relations) channels = std::max(channels, r.channel + 1);
    }
    const auto member = [&](const Relation& r, int node, int local) {
      return static_cast<std::uint32_t>(r.channel * shape.ranks() + node * shape.local() + local);
    };
    sim::Exchange e{static_cast<std::uint32_t>(channels * shape.ranks()), {}, {}};
    if (is_whole_cluster(fabric, shape)) {
      e.parts = static_cast<std::uint32_t>(shape.node_count());
      e.run = static_cast<std::uint32_t>(shape.local());
    }
    for (const Stage& stage : description.stages) {
      const auto flight = [&](bool between) {
        return to_sim_time(Seconds(flight_of(fabric, stage, between)));
      };
      const SimTime inside = flight(false), between = flight(true);
      sim::Round round{stage.steps, to_sim_time(Seconds(start_of(fabric, stage))), {}, stage.mixed()};
      for (int n = 0; n < shape.node_count(); ++n) {
        for (const Relation& r : stage.relations) {
          each_peer(r, n, shape.node_count(), [&](int peer) {
            std::map<Fabric::Id, double> used;
            const auto add = [&](Fabric::Id id, double b) { used[id] += b; };
            const int from = cores[at(n)].cores[at(r.from)], to = cores[at(peer)].cores[at(r.to)];
            const auto cls = [&](int node) {
              return fabric.placement().class_of_node(shape.nodes[at(node)]);
            };
            if (peer == n) {
              wiring.inside(cls(n), r, from, to, add);
            } else {
              wiring.out(cls(n), r, from, 1, add);
              wiring.in(cls(peer), r, to, 1, add);
            }
            sim::Message m{member(r, n, r.from), member(r, peer, r.to), {}, peer == n ? inside : between};
            for (const auto& [id, b] : used) {
              if (b > 0) m.flow.weights.push_back({id, b});
            }
            round.messages.push_back(std::move(m));
          });
        }
      }
      e.rounds.push_back(std::move(round));
    }
    exchanges.push_back(std::move(e));
  }
  return exchanges;
}

}  // namespace trnplan::models
