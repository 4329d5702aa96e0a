#include "tests/second_opinion/groups.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "units/index.h"

namespace trnplan::second_opinion {

using models::Strategy;

namespace {

using Chips = std::uint64_t;  ///< a set of at most 64 chips
constexpr int kMostChips = 64;

Chips only(int chip) {
  return Chips{1} << static_cast<unsigned>(chip);
}

/// The ranks of [pipeline][data][context][tensor], filled in NxD's order: tensor fastest, then context, data,
/// pipeline; on trn1 with TP 4 a group is a column: every (cores / 4)-th core of a node; on trn2 with TP of half an
/// instance's ranks the first group has its first and its last quarter, the second those between.
class Grid {
 public:
  Grid(const topology::Cluster& cluster, const Strategy& s) : s_(s) {
    const int cores = cluster.instance.cores();
    const topology::RankOrderRule rule = cluster.instance.traits.rank_order;
    const bool by_columns = rule == topology::RankOrderRule::columns_of_four;
    const int columns = by_columns && s.tensor_parallel == 4 && cores > 4 ? cores / 4 : 1;
    const int replicas = s.data_parallel * s.context_parallel;
    ranks_.resize(at(s.pipeline_parallel) * at(replicas) * at(s.tensor_parallel));
    int next = 0;
    for (int p = 0; p < s.pipeline_parallel; ++p) {
      for (int first = 0; first < replicas; first += columns) {
        for (int t = 0; t < s.tensor_parallel; ++t) {
          for (int column = 0; column < columns; ++column) ranks_[place(p, first + column, t)] = next++;
        }
      }
    }
    const int half = kPhysicalCores / cluster.instance.core.lnc / 2;
    if (rule != topology::RankOrderRule::half_instances || s.tensor_parallel != half ||
        cores % (2 * half) != 0)
      return;
    for (int& rank : ranks_) rank = outer_or_inner(rank, half);
  }
  int rank(int p, int d, int c, int t) const { return ranks_[place(p, d * s_.context_parallel + c, t)]; }

 private:
  static constexpr int kPhysicalCores = 128;  ///< of one instance of trn2

  /// The place of a rank of two groups one after the other when the first has the outer quarters, the second the inner.
  static int outer_or_inner(int rank, int half) {
    const int instance = rank / (2 * half), within = rank % half;
    const bool inner = rank / half % 2 == 1, late = within >= half / 2;
    return instance * 2 * half + within + (inner || late ? half / 2 : 0) + (late && !inner ? half / 2 : 0);
  }
  std::size_t place(int p, int replica, int t) const {
    const std::size_t replicas = at(s_.data_parallel) * at(s_.context_parallel);
    return (at(p) * replicas + at(replica)) * at(s_.tensor_parallel) + at(t);
  }
  Strategy s_;
  std::vector<int> ranks_;
};

/// Chips and who is whose neighbour: over a link, or over one switch. More than 64 chips, which only switches join
/// and whose groups need no neighbours, have none.
class Node {
 public:
  explicit Node(const topology::Instance& instance) : linked_(at(instance.chips), 0) {
    if (instance.chips > kMostChips) return;
    std::map<int, Chips> of_switch;
    for (const topology::Link& l : instance.links) {
      const bool a_is_chip = l.chip_a < instance.chips, b_is_chip = l.chip_b < instance.chips;
      if (a_is_chip && b_is_chip) {
        linked_[at(l.chip_a)] |= only(l.chip_b);
        linked_[at(l.chip_b)] |= only(l.chip_a);
      } else if (a_is_chip) {
        of_switch[l.chip_b] |= only(l.chip_a);
      } else if (b_is_chip) {
        of_switch[l.chip_a] |= only(l.chip_b);
      }
    }
    for (const auto& [number, chips] : of_switch) {
      for (int c = 0; c < instance.chips; ++c) {
        if ((chips & only(c)) != 0) linked_[at(c)] |= chips & ~only(c);
      }
    }
  }

  bool linked(int a, int b) const { return (linked_[at(a)] & only(b)) != 0; }
  bool two_hops(int a, int b) const { return !linked(a, b) && (linked_[at(a)] & linked_[at(b)]) != 0; }

  /// Is there a cycle of neighbours through each chip of the set once? For three chips and more. `far`: of chips that
  /// are at most two hops apart.
  bool ring(Chips set, bool far = false) {
    const auto [it, fresh] = rings_.try_emplace({set, far}, false);
    if (fresh) {
      int first = 0;
      while ((set & only(first)) == 0) ++first;
      it->second = path_back(first, first, set & ~only(first), far);
    }
    return it->second;
  }

 private:
  /// From chip `here` through all of `left` and back to `first`.
  bool path_back(int first, int here, Chips left, bool far) const {
    const auto near = [&](int a, int b) { return linked(a, b) || (far && two_hops(a, b)); };
    if (left == 0) return near(here, first);
    for (int next = 0; next < static_cast<int>(linked_.size()); ++next) {
      if ((left & only(next)) != 0 && near(here, next) && path_back(first, next, left & ~only(next), far))
        return true;
    }
    return false;
  }

  std::vector<Chips> linked_;
  std::map<std::pair<Chips, bool>, bool> rings_;
};

using Kind = GroupKind;
constexpr std::array kNames = {"TP", "KV", "CP", "DP", "PP"};

struct Opinion {
  GroupOpinion verdict = GroupOpinion::fine;
  const char* why = "";
};

/// Collects the groups of a strategy.
class Groups {
 public:
  Groups(const topology::Cluster& cluster, const Strategy& s)
      : adjacent_(cluster.instance.traits.adjacent_kv_copies), s_(s), grid_(cluster, s) {}

  std::vector<Group> all() {
    over(Kind::tensor, s_.tensor_parallel,
         [&](int i, int p, int d, int c, int) { return grid_.rank(p, d, c, i); });
    copies();
    over(Kind::context, s_.context_parallel,
         [&](int i, int p, int d, int, int t) { return grid_.rank(p, d, i, t); });
    over(Kind::data, s_.data_parallel,
         [&](int i, int p, int, int c, int t) { return grid_.rank(p, i, c, t); });
    pipeline();
    return std::move(found_);
  }

 private:
  /// Calls `visit(p, d, c, t)` for all coordinates; the degree of `kind` itself counts as 1.
  template <class Visit>
  void each(Kind kind, const Visit& visit) const {
    const int tensor = kind == Kind::tensor ? 1 : s_.tensor_parallel;
    const int context = kind == Kind::context ? 1 : s_.context_parallel;
    const int data = kind == Kind::data ? 1 : s_.data_parallel;
    for (int p = 0; p < s_.pipeline_parallel; ++p) {
      for (int d = 0; d < data; ++d) {
        for (int c = 0; c < context; ++c) {
          for (int t = 0; t < tensor; ++t) visit(p, d, c, t);
        }
      }
    }
  }

  template <class Member>
  void over(Kind kind, int degree, const Member& member) {
    if (degree < 2) return;
    each(kind, [&](int p, int d, int c, int t) {
      std::vector<int> ranks;
      for (int i = 0; i < degree; ++i) ranks.push_back(member(i, p, d, c, t));
      found_.push_back({kind, std::move(ranks)});
    });
  }

  /// Ranks j, j + T/r, j + 2T/r, ... of a tensor-parallel group hold the same KV heads; on trn2 r that follow each
  /// other.
  void copies() {
    const int r = s_.kv_replicator;
    if (r < 2) return;
    const int apart = s_.tensor_parallel / r;
    each(Kind::tensor, [&](int p, int d, int c, int) {
      for (int j = 0; j < apart; ++j) {
        std::vector<int> ranks;
        const int from = adjacent_ ? j * r : j, step = adjacent_ ? 1 : apart;
        for (int i = 0; i < r; ++i) ranks.push_back(grid_.rank(p, d, c, from + i * step));
        found_.push_back({Kind::copies, std::move(ranks)});
      }
    });
  }

  /// Each stage sends to the next; of more than two the last also to the first.
  void pipeline() {
    const int stages = s_.pipeline_parallel;
    each(Kind::pipeline, [&](int p, int d, int c, int t) {
      const bool last = p == stages - 1;
      if (last && stages <= 2) return;
      found_.push_back({Kind::pipeline, {grid_.rank(p, d, c, t), grid_.rank(last ? 0 : p + 1, d, c, t)}});
    });
  }

  bool adjacent_;
  const Strategy& s_;
  Grid grid_;
  std::vector<Group> found_;
};

/// Judges groups by their kind and ranks; those that are alike, a number of nodes away, once.
class Judge {
 public:
  explicit Judge(const topology::Cluster& cluster) : instance_(cluster.instance), node_(cluster.instance) {}

  Opinion on(const Group& group) {
    const int cores = instance_.cores();
    std::vector<int> shape{static_cast<int>(group.kind)};
    for (const int r : group.ranks) shape.push_back(r - group.ranks.front() / cores * cores);
    const auto [it, fresh] = known_.try_emplace(std::move(shape));
    if (fresh) it->second = opinion_on(group.kind, group.ranks);
    return it->second;
  }

 private:
  Opinion opinion_on(Kind kind, const std::vector<int>& ranks) {
    const int cores = instance_.cores();
    std::map<int, std::set<int>> on_node;
    for (const int r : ranks) on_node[r / cores].insert(r % cores);
    if (on_node.size() > 1 && instance_.nics == 0) return {GroupOpinion::refused, "no network between nodes"};
    if (instance_.traits.groups == topology::GroupRule::any_group) return {};  // all behind one switch
    if (instance_.traits.groups == topology::GroupRule::not_published) {
      std::set<int> chips;
      for (const int core : on_node.begin()->second) chips.insert(core / instance_.cores_per_chip);
      if (on_node.size() > 1 || chips.size() > 1)
        return {GroupOpinion::refused, "nobody says which groups over chips are accepted"};
      return {};
    }
    const std::set<int>& local = on_node.begin()->second;
    for (const auto& [node, held] : on_node) {
      if (held == local) continue;
      if (kind == Kind::pipeline) return {GroupOpinion::doubtful, "different cores of two nodes"};
      return {GroupOpinion::refused, "its nodes hold different cores"};
    }
    const Opinion opinion = opinion_on_node(kind, local);
    if (kind != Kind::context || opinion.verdict == GroupOpinion::refused) return opinion;
    return passes_on(ranks) ? opinion : Opinion{GroupOpinion::refused, "a rank cannot pass on to the next"};
  }

  Opinion opinion_on_node(Kind kind, const std::set<int>& local) {
    std::map<int, int> held;  // cores of each chip
    Chips set = 0;
    for (const int core : local) {
      const int chip = core / instance_.cores_per_chip;
      ++held[chip];
      set |= only(chip);
    }
    if (held.size() == 1) return {};
    const auto all_hold = [&](int n) {
      return std::all_of(held.begin(), held.end(), [&](const auto& h) { return h.second == n; });
    };
    const bool mesh = instance_.traits.groups == topology::GroupRule::logic2_mesh;
    const bool one_each = all_hold(1), whole = all_hold(instance_.cores_per_chip);
    if (!one_each && !whole && !(mesh && all_hold(held.begin()->second)))
      return {GroupOpinion::refused, "parts of chips"};
    if (held.size() == 2) {
      const int a = held.begin()->first, b = held.rbegin()->first;
      if (node_.linked(a, b))
        return one_each ? Opinion{} : Opinion{GroupOpinion::doubtful, "all cores of two chips"};
      if (kind == Kind::pipeline && node_.two_hops(a, b)) return {GroupOpinion::doubtful, "two hops apart"};
      return {GroupOpinion::refused, "its chips share no link"};
    }
    if (!node_.ring(set)) {
      constexpr std::size_t kEight = 8;  // the runtime has 8x8 groups with LNC 2
      if (mesh && instance_.core.lnc == 2 && one_each && held.size() == kEight && node_.ring(set, true))
        return {GroupOpinion::doubtful, "a ring of two hops"};
      return {GroupOpinion::refused, "its chips form no ring"};
    }
    constexpr std::size_t kFewChips = 4;  // beyond these reports of one rank a chip of trn1 disagree
    if (!mesh && !whole && held.size() > kFewChips)
      return {GroupOpinion::doubtful, "one rank on each of many chips"};
    return {};
  }

  bool passes_on(const std::vector<int>& ranks) const {
    const int cores = instance_.cores();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const int from = ranks[i], to = ranks[(i + 1) % ranks.size()];
      const int a = from % cores / instance_.cores_per_chip, b = to % cores / instance_.cores_per_chip;
      if (from / cores == to / cores && a != b && !node_.linked(a, b)) return false;
    }
    return true;
  }

  const topology::Instance& instance_;
  Node node_;
  std::map<std::vector<int>, Opinion> known_;
};

}  // namespace

std::vector<Group> groups_on_grid(const topology::Cluster& cluster, const Strategy& s) {
  return Groups(cluster, s).all();
}

std::vector<GroupOpinion> opinions_on(const topology::Cluster& cluster, const std::vector<Group>& groups) {
  Judge judge(cluster);
  std::vector<GroupOpinion> all;
  for (const Group& group : groups) all.push_back(judge.on(group).verdict);
  return all;
}

GroupsOpinion groups_by_backtracking(const topology::Cluster& cluster, const Strategy& s) {
  if (cluster.instance.chips > kMostChips) return {};
  Judge judge(cluster);
  GroupsOpinion found;
  for (const auto& [kind, ranks] : groups_on_grid(cluster, s)) {
    const Opinion opinion = judge.on({kind, ranks});
    if (opinion.verdict <= found.worst) continue;
    found.worst = opinion.verdict;
    const std::vector<int> shown(ranks.begin(),
                                 ranks.begin() + std::min<std::ptrdiff_t>(8, std::ssize(ranks)));
    found.why = fmt::format("{} group of ranks {}{}: {}", kNames[static_cast<std::size_t>(kind)],
                            fmt::join(shown, ", "), ranks.size() > shown.size() ? ", ..." : "", opinion.why);
  }
  return found;
}

}  // namespace trnplan::second_opinion
