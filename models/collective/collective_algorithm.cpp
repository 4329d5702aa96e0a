#include "models/collective/collective_algorithm.h"
#include "units/index.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace trnplan::models {

namespace {

struct Accesses {
  double read, written;
};

bool power_of_two(int n) {
  return std::has_single_bit(static_cast<unsigned>(n));
}

/// Writes down the stages of one all-gather or reduce-scatter.
class Describer {
 public:
  Describer(const Fabric& fabric, const GroupShape& shape) : fabric_(fabric), shape_(shape) {
    const topology::Instance& instance = fabric.cluster().instance;
    members_of_.resize(at(instance.chips));
    for (int j = 0; j < shape.local(); ++j) members_on(instance.chip_of(shape.cores[at(j)])).push_back(j);
    per_chip_ = static_cast<int>(members_on(shape.chips.front()).size());
  }

  /// Algorithms that can run here; ring always can.
  Algorithm possible(Algorithm local) const {
    const bool equal_chips = shape_.local() == per_chip_ * static_cast<int>(shape_.chips.size());
    const bool hypercube = power_of_two(shape_.local()) && equal_chips;
    const topology::Instance& i = fabric_.cluster().instance;
    const bool torus = i.torus_rows * i.torus_columns == i.chips && equal_chips &&
                       static_cast<int>(shape_.chips.size()) == i.chips && per_chip_ == 1;
    if (local == Algorithm::kangaring && !(shape_.whole_chips && shape_.chips.size() > 1))
      return Algorithm::ring;
    if (local == Algorithm::halving_doubling && !hypercube) return Algorithm::ring;
    if (local == Algorithm::torus && !torus) return Algorithm::ring;
    return local;
  }
  Algorithm possible_between(Algorithm between) const {
    return between == Algorithm::mesh || between == Algorithm::halving_doubling ? between : Algorithm::ring;
  }

  /// All-gather of `gathered` bytes inside each node, in the order of an all-gather.
  std::vector<Stage> local(Algorithm algorithm, double gathered, bool reduce) const {
    std::vector<Stage> stages;
    if (shape_.local() < 2) return stages;
    switch (algorithm) {
      case Algorithm::kangaring:
        stages = kangaring(gathered, reduce);
        break;
      case Algorithm::mesh:
        stages = mesh(gathered / shape_.local(), reduce);
        break;
      case Algorithm::halving_doubling:
        stages = halving_doubling(gathered, reduce);
        break;
      case Algorithm::torus:
        stages = torus(gathered, reduce);
        break;
      default:
        stages = ring(gathered, reduce);
    }
    if (reduce) std::reverse(stages.begin(), stages.end());
    return stages;
  }

  /// All-gather of `gathered` bytes over the nodes, each local member with its likes.
  std::vector<Stage> between(Algorithm algorithm, double gathered, bool reduce) const {
    const int k = shape_.node_count();
    std::vector<Stage> stages;
    if (k < 2) return stages;
    const auto stage = [&](std::int64_t steps, Relation::Node node, int by, double bytes) {
      Stage s{steps, steps, steps, {}};
      for (int j = 0; j < shape_.local(); ++j) s.relations.push_back(relation(j, j, bytes, reduce, node, by));
      stages.push_back(std::move(s));
    };
    if (algorithm == Algorithm::mesh) {
      stage(1, Relation::Node::others, 0, gathered / k);
    } else if (algorithm == Algorithm::halving_doubling) {
      // Bruck's order where k is no power of two: each node sends what it has to the one `by` places on.
      const auto node = power_of_two(k) ? Relation::Node::flip : Relation::Node::shift;
      for (int by = 1; by < k; by *= 2) stage(1, node, by, gathered / k * std::min(by, k - by));
    } else {
      stage(k - 1, Relation::Node::shift, 1, gathered / k);
    }
    if (reduce) std::reverse(stages.begin(), stages.end());
    return stages;
  }

  /// One ring over all ranks, in channels that leave and enter the nodes through NICs used alike. Of the N
  /// links of the ring k lead to another node. A chunk leaves one of the N out; on its `second` way round,
  /// after a reduce-scatter, the one after that.
  std::vector<Stage> flat_ring(double gathered, bool reduce, bool second) const {
    const auto& orders = fabric_.channels(shape_.chips);
    const int k = shape_.node_count(), l = shape_.local(), steps = shape_.ranks() - 1;
    Stage s{steps, 0, 0, {}};
    if (k > 1 && l == 1) s.between_nodes = s.between_nodes_least = steps;
    if (k > 1 && l > 1) {
      s.between_nodes = second && l == 2 ? k - 1 : k;
      s.between_nodes_least = second ? k : k - 1;
    }
    const double bytes = gathered / shape_.ranks() / static_cast<double>(orders.size());
    int channel = 0;
    for (const std::vector<int>& order : orders) {
      const std::vector<int> members = members_along(order);
      for (std::size_t i = 0; i + 1 < members.size(); ++i) {
        s.relations.push_back(relation(members[i], members[i + 1], bytes, reduce));
        s.relations.back().channel = channel;
      }
      const auto node = k > 1 ? Relation::Node::shift : Relation::Node::same;
      s.relations.push_back(relation(members.back(), members.front(), bytes, reduce, node, 1));
      s.relations.back().channel = channel++;
    }
    return {s};
  }

  /// Every rank sends `bytes` to every other.
  Stage to_all(double bytes, bool reduce) const {
    Stage s = one_step();
    for (int from = 0; from < shape_.local(); ++from) {
      for (int to = 0; to < shape_.local(); ++to) {
        if (from != to) s.relations.push_back(relation(from, to, bytes, reduce));
        if (from != to) s.relations.back().spread = true;
        if (shape_.node_count() > 1) {
          s.relations.push_back(relation(from, to, bytes, reduce, Relation::Node::others));
        }
      }
    }
    return s;
  }

  /// Each rank sends `bytes` to the next one of the group, the last to the first.
  Stage to_next(double bytes) const {
    Stage s = one_step();
    const int last = shape_.local() - 1;
    for (int j = 0; j < last; ++j) s.relations.push_back(relation(j, j + 1, bytes, false));
    const auto node = shape_.node_count() > 1 ? Relation::Node::shift : Relation::Node::same;
    s.relations.push_back(relation(last, 0, bytes, false, node, 1));
    return s;
  }

 private:
  Stage one_step() const {
    const int between = shape_.node_count() > 1 ? 1 : 0;
    return {1, between, between, {}};
  }

  std::vector<int>& members_on(int chip) { return members_of_[at(chip)]; }
  const std::vector<int>& members_on(int chip) const { return members_of_[at(chip)]; }

  static Relation relation(int from, int to, double bytes, bool reduce,
                           Relation::Node node = Relation::Node::same, int by = 0) {
    return {from, to, node, by, bytes, 1, reduce ? 2.0 : 1.0, false, 0};
  }

  std::vector<int> members_along(const std::vector<int>& chips) const {
    std::vector<int> members;
    for (const int chip : chips) {
      const auto& here = members_on(chip);
      members.insert(members.end(), here.begin(), here.end());
    }
    return members;
  }

  std::vector<Stage> ring(double gathered, bool reduce) const {
    const auto orders = fabric_.directions(shape_.chips);
    Stage s{shape_.local() - 1, 0, 0, {}};
    const double bytes = gathered / shape_.local() / static_cast<double>(orders.size());
    for (const auto& order : orders) {
      const std::vector<int> members = members_along(order);
      for (std::size_t i = 0; i < members.size(); ++i) {
        s.relations.push_back(relation(members[i], members[(i + 1) % members.size()], bytes, reduce));
      }
    }
    return {s};
  }

  std::vector<Stage> kangaring(double gathered, bool reduce) const {
    const auto orders = fabric_.directions(shape_.chips);
    const auto chips = static_cast<std::int64_t>(shape_.chips.size());
    Stage s{chips - 1, 0, 0, {}};
    const double bytes = gathered / shape_.local() / static_cast<double>(orders.size());
    for (const auto& order : orders) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        const auto& from = members_on(order[i]);
        const auto& to = members_on(order[(i + 1) % order.size()]);
        for (std::size_t core = 0; core < from.size(); ++core) {
          Relation r = relation(from[core], to[core], bytes, reduce);
          r.written = per_chip_ + (reduce ? 1 : 0);
          s.relations.push_back(r);
        }
      }
    }
    if (per_chip_ < 2) return {s};
    Stage siblings{1, 0, 0, {}};
    for (const int chip : shape_.chips) {
      for (const int from : members_on(chip)) {
        for (const int to : members_on(chip)) {
          if (from != to) {
            siblings.relations.push_back(relation(from, to, gathered / shape_.local(), reduce));
          }
        }
      }
    }
    return {s, siblings};
  }

  std::vector<Stage> mesh(double bytes, bool reduce) const {
    Stage s{1, 0, 0, {}};
    for (int from = 0; from < shape_.local(); ++from) {
      for (int to = 0; to < shape_.local(); ++to) {
        if (from == to) continue;
        s.relations.push_back(relation(from, to, bytes, reduce));
        s.relations.back().spread = true;
      }
    }
    return {s};
  }

  std::vector<Stage> halving_doubling(double gathered, bool reduce) const {
    const std::vector<int>& chips = fabric_.hypercube(shape_.chips);
    const int count = static_cast<int>(chips.size());
    const int axes = std::bit_width(static_cast<unsigned>(count)) - 1;
    std::vector<Stage> stages;
    double held = gathered / shape_.local();  // what each rank has so far
    for (int step = 0; step < axes; ++step, held *= 2) {
      Stage s{1, 0, 0, {}};
      for (int lane = 0; lane < axes; ++lane) {
        const int axis = 1 << ((step + lane) % axes);
        for (int c = 0; c < count; ++c) {
          const auto& from = members_on(chips[at(c)]);
          const auto& to = members_on(chips[at(c ^ axis)]);
          for (std::size_t core = 0; core < from.size(); ++core) {
            s.relations.push_back(relation(from[core], to[core], held / axes, reduce));
          }
        }
      }
      stages.push_back(std::move(s));
    }
    for (int by = 1; by < per_chip_; by *= 2, held *= 2) {
      Stage s{1, 0, 0, {}};
      for (const int chip : chips) {
        const auto& members = members_on(chip);
        for (int core = 0; core < per_chip_; ++core) {
          s.relations.push_back(relation(members[at(core)], members[at(core ^ by)], held, reduce));
        }
      }
      stages.push_back(std::move(s));
    }
    return stages;
  }

  /// Rows then columns; on a square torus one half of the bytes goes the other way round, so that all links
  /// work.
  std::vector<Stage> torus(double gathered, bool reduce) const {
    const topology::Instance& i = fabric_.cluster().instance;
    const int rows = i.torus_rows, columns = i.torus_columns;
    const bool square = rows == columns;
    const auto member = [&](int row, int column) { return members_on(row * columns + column).front(); };
    std::vector<Stage> stages;
    for (int dimension = 0; dimension < 2; ++dimension) {
      const int length = dimension == 0 ? columns : rows;
      Stage s{length - 1, 0, 0, {}};
      s.relations.reserve(at((square ? 4 : 2) * rows * columns));
      const double held = gathered / shape_.local() * (dimension == 0 ? 1 : columns);
      for (int half = 0; half < (square ? 2 : 1); ++half) {
        const bool along_row = (dimension + half) % 2 == 0;
        for (const int turn : {1, length - 1}) {
          for (int row = 0; row < rows; ++row) {
            for (int column = 0; column < columns; ++column) {
              const int to =
                  along_row ? member(row, (column + turn) % columns) : member((row + turn) % rows, column);
              s.relations.push_back(relation(member(row, column), to, held / (square ? 4 : 2), reduce));
            }
          }
        }
      }
      if (length > 1) stages.push_back(std::move(s));
    }
    return stages;
  }

  const Fabric& fabric_;
  const GroupShape& shape_;
  std::vector<std::vector<int>> members_of_;  ///< chip -> local members
  int per_chip_ = 1;
};

/// By the bytes that are gathered, and what each chip has of them.
Algorithm by_size(const AlgorithmLimits& limits, double bytes, double piece, Algorithm large) {
  if (bytes < limits.mesh_below.value) return Algorithm::mesh;
  return piece < limits.halving_below.value ? Algorithm::halving_doubling : large;
}

bool is_local(Algorithm a) {
  return a == Algorithm::ring || a == Algorithm::kangaring || a == Algorithm::mesh ||
         a == Algorithm::halving_doubling || a == Algorithm::torus;
}

/// The algorithm of the whole group.
Algorithm choose(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, double bytes,
                 Algorithm wanted) {
  const AlgorithmLimits& limits = fabric.profile().algorithms;
  if (wanted == Algorithm::one_step && op != CollectiveOp::all_reduce) wanted = Algorithm::mesh;
  if (wanted == Algorithm::ring && shape.node_count() > 1) return Algorithm::flat_ring;
  if (wanted != Algorithm::automatic) return wanted;
  if (op == CollectiveOp::all_reduce && bytes < limits.one_step_below.value * shape.ranks()) {
    return Algorithm::one_step;
  }
  const bool has_flat_ring = fabric.cluster().instance.traits.flat_ring;
  if (has_flat_ring && shape.node_count() > 1 &&
      bytes >= limits.flat_ring_from.value * static_cast<double>(shape.chips.size()) * shape.node_count()) {
    return Algorithm::flat_ring;
  }
  return Algorithm::hierarchical;
}

void append(std::vector<Stage>& all, std::vector<Stage> more) {
  for (Stage& s : more) all.push_back(std::move(s));
}

Description gather_and_scatter(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, double bytes,
                               Algorithm wanted) {
  const Describer d(fabric, shape);
  const Algorithm whole = choose(fabric, op, shape, bytes, wanted);
  const bool scatters = op != CollectiveOp::all_gather, gathers = op != CollectiveOp::reduce_scatter;
  Description out{std::string(to_string(whole)), {}};
  if (whole == Algorithm::one_step) {
    out.stages.push_back(d.to_all(bytes, true));
    return out;
  }
  if (whole == Algorithm::flat_ring) {
    if (scatters) append(out.stages, d.flat_ring(bytes, true, false));
    if (gathers) append(out.stages, d.flat_ring(bytes, false, scatters));
    return out;
  }
  const AlgorithmLimits& limits = fabric.profile().algorithms;
  const double per_rank = bytes / shape.local(), per_chip = bytes / static_cast<double>(shape.chips.size());
  const Algorithm local =
      d.possible(is_local(whole) ? whole : by_size(limits, bytes, per_chip, Algorithm::kangaring));
  const Algorithm between = d.possible_between(
      is_local(whole) ? whole : by_size(limits, bytes, per_chip / shape.node_count(), Algorithm::ring));
  if (scatters) {
    append(out.stages, d.local(local, bytes, true));
    append(out.stages, d.between(between, per_rank, true));
  }
  if (gathers) {
    append(out.stages, d.between(between, per_rank, false));
    append(out.stages, d.local(local, bytes, false));
  }
  const std::string inside(to_string(local)), outside(to_string(between));
  out.algorithm = shape.node_count() == 1 ? inside
                  : shape.local() == 1    ? outside
                                          : "hierarchical (" + outside + ", " + inside + ")";
  return out;
}

}  // namespace

std::string_view to_string(CollectiveOp op) {
  constexpr std::string_view kNames[] = {"all_gather", "reduce_scatter", "all_reduce",
                                         "all_to_all", "permute",        "send_recv"};
  return kNames[static_cast<std::size_t>(op)];
}

std::string_view to_string(Algorithm a) {
  constexpr std::string_view kNames[] = {"auto",  "ring",         "kangaring", "mesh",    "rdh",
                                         "torus", "hierarchical", "flat-ring", "one-step"};
  return kNames[static_cast<std::size_t>(a)];
}

std::optional<CollectiveOp> collective_op(std::string_view name) {
  constexpr std::pair<std::string_view, CollectiveOp> kShort[] = {
      {"allr", CollectiveOp::all_reduce},       {"allreduce", CollectiveOp::all_reduce},
      {"allg", CollectiveOp::all_gather},       {"allgather", CollectiveOp::all_gather},
      {"redsct", CollectiveOp::reduce_scatter}, {"alltoall", CollectiveOp::all_to_all},
      {"sendrecv", CollectiveOp::send_recv},    {"sendrcv", CollectiveOp::send_recv},
  };
  for (int op = 0; op <= static_cast<int>(CollectiveOp::send_recv); ++op) {
    if (name == to_string(static_cast<CollectiveOp>(op))) return static_cast<CollectiveOp>(op);
  }
  for (const auto& [text, op] : kShort) {
    if (name == text) return op;
  }
  return std::nullopt;
}

std::optional<Algorithm> collective_algorithm(std::string_view name) {
  for (int a = 0; a <= static_cast<int>(Algorithm::one_step); ++a) {
    if (name == to_string(static_cast<Algorithm>(a))) return static_cast<Algorithm>(a);
  }
  return std::nullopt;
}

GroupShape shape_of(const topology::Cluster& cluster, const std::vector<int>& ranks) {
  GroupShape shape;
  const topology::Instance& instance = cluster.instance;
  const int cores = instance.cores();
  // Mostly the nodes ascend; where one comes after a later one, the set says whether it is new.
  std::unordered_set<int> seen;
  std::size_t noted = 0;  // nodes in the set
  int last = -1, most = -1;
  for (const int r : ranks) {
    const int node = r / cores;
    if (node > most) {
      shape.nodes.push_back(node);
      most = node;
    } else if (node != last) {
      for (; noted < shape.nodes.size(); ++noted) seen.insert(shape.nodes[noted]);
      if (!seen.contains(node)) shape.nodes.push_back(node);
    }
    last = node;
    if (node == shape.nodes.front()) shape.cores.push_back(r % cores);
  }
  std::sort(shape.cores.begin(), shape.cores.end());
  for (const int c : shape.cores) {
    if (shape.chips.empty() || shape.chips.back() != instance.chip_of(c)) {
      shape.chips.push_back(instance.chip_of(c));
    }
  }
  shape.whole_chips = shape.cores.size() == shape.chips.size() * at(instance.cores_per_chip);
  return shape;
}

Description describe(const Fabric& fabric, CollectiveOp op, const GroupShape& shape, Bytes bytes,
                     Algorithm algorithm) {
  if (shape.ranks() < 2) return {"none", {}};
  switch (op) {
    case CollectiveOp::all_gather:
    case CollectiveOp::reduce_scatter:
    case CollectiveOp::all_reduce:
      return gather_and_scatter(fabric, op, shape, bytes.value, algorithm);
    case CollectiveOp::all_to_all:
      return {"mesh", {Describer(fabric, shape).to_all(bytes.value / shape.ranks(), false)}};
    case CollectiveOp::permute:
    case CollectiveOp::send_recv:
      break;
  }
  return {"permute", {Describer(fabric, shape).to_next(bytes.value)}};
}

}  // namespace trnplan::models
