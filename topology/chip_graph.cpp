#include "topology/chip_graph.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/visitors.hpp>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace trnplan::topology {

namespace {

using Graph = boost::adjacency_list<boost::setS, boost::vecS, boost::undirectedS>;

Graph make_graph(int chips, const std::vector<Link>& links) {
  if (chips < 1) throw std::invalid_argument("a node needs at least one chip");
  Graph g(static_cast<std::size_t>(chips));
  for (const Link& l : links) {
    if (l.chip_a < 0 || l.chip_b < 0 || l.chip_a >= chips || l.chip_b >= chips || l.chip_a == l.chip_b) {
      throw std::invalid_argument("link " + std::to_string(l.chip_a) + "-" + std::to_string(l.chip_b) +
                                  " does not join two chips of 0.." + std::to_string(chips - 1));
    }
    boost::add_edge(static_cast<std::size_t>(l.chip_a), static_cast<std::size_t>(l.chip_b), g);
  }
  return g;
}

std::vector<int> distances_from(const Graph& g, int source) {
  std::vector<int> distance(boost::num_vertices(g), -1);
  distance[static_cast<std::size_t>(source)] = 0;
  boost::breadth_first_search(g, static_cast<std::size_t>(source),
                              boost::visitor(boost::make_bfs_visitor(
                                  boost::record_distances(distance.data(), boost::on_tree_edge()))));
  return distance;
}

using Edge = std::pair<int, int>;
Edge edge(int a, int b) {
  return {std::min(a, b), std::max(a, b)};
}

std::set<Edge> edges_of(const std::vector<int>& ring) {
  std::set<Edge> edges;
  for (std::size_t i = 0; i < ring.size(); ++i) edges.insert(edge(ring[i], ring[(i + 1) % ring.size()]));
  return edges;
}

/// Depth-first search for Hamiltonian cycles of the chips in `members` that avoid `banned` edges, in
/// lexicographic order, until `accept` says yes to one.
class RingSearch {
 public:
  using Accept = std::function<bool(const std::vector<int>&)>;

  RingSearch(const std::vector<std::vector<int>>& neighbours, const std::vector<int>& members,
             const std::set<Edge>& banned, Accept accept)
      : neighbours_(neighbours),
        banned_(banned),
        accept_(std::move(accept)),
        open_(neighbours.size(), false),
        count_(members.size()) {
    for (const int c : members) open_[static_cast<std::size_t>(c)] = true;
    path_.push_back(members.front());
    open_[static_cast<std::size_t>(members.front())] = false;
  }

  bool run() { return extend(); }
  const std::vector<int>& path() const { return path_; }

 private:
  bool usable(int a, int b) const { return banned_.count(edge(a, b)) == 0; }

  bool extend() {
    const int last = path_.back();
    const auto& next = neighbours_[static_cast<std::size_t>(last)];
    if (path_.size() == count_) {
      return std::binary_search(next.begin(), next.end(), path_.front()) && usable(last, path_.front()) &&
             accept_(path_);
    }
    for (const int c : next) {
      if (!open_[static_cast<std::size_t>(c)] || !usable(last, c)) continue;
      path_.push_back(c);
      open_[static_cast<std::size_t>(c)] = false;
      if (extend()) return true;
      open_[static_cast<std::size_t>(c)] = true;
      path_.pop_back();
    }
    return false;
  }

  const std::vector<std::vector<int>>& neighbours_;
  const std::set<Edge>& banned_;
  Accept accept_;
  std::vector<bool> open_;
  std::size_t count_;
  std::vector<int> path_;
};

/// How many first rings are tried before a set is taken to have no second one. The 4x4 torus needs fewer than
/// ten.
constexpr int kMostRingsTried = 2000;

void sort_unique(std::vector<int>& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

}  // namespace

struct ChipGraph::Tables {
  std::vector<std::vector<int>> neighbours;
  std::vector<std::vector<int>> hops;

  /// The first ring of three or more chips that `accept` takes.
  std::optional<std::vector<int>> cycle(const std::vector<int>& members, const std::set<Edge>& banned,
                                        const RingSearch::Accept& accept) const {
    RingSearch search(neighbours, members, banned, accept);
    if (!search.run()) return std::nullopt;
    return search.path();
  }

  std::optional<std::vector<int>> ring(const std::vector<int>& members) const {
    if (members.empty()) return std::nullopt;
    if (members.size() == 1) return members;
    if (members.size() == 2) {
      const auto& next = neighbours[static_cast<std::size_t>(members[0])];
      return std::binary_search(next.begin(), next.end(), members[1]) ? std::optional(members) : std::nullopt;
    }
    return cycle(members, {}, [](const auto&) { return true; });
  }
};

ChipGraph::ChipGraph(int chips, const std::vector<Link>& links) {
  const Graph g = make_graph(chips, links);
  auto tables = std::make_shared<Tables>();
  for (int c = 0; c < chips; ++c) {
    std::vector<int> next;
    const auto [begin, end] = boost::adjacent_vertices(static_cast<std::size_t>(c), g);
    for (auto it = begin; it != end; ++it) next.push_back(static_cast<int>(*it));
    std::sort(next.begin(), next.end());
    tables->neighbours.push_back(std::move(next));
    tables->hops.push_back(distances_from(g, c));
  }
  tables_ = std::move(tables);
}

ChipGraph::ChipGraph(const Instance& instance) : ChipGraph(instance.chips, instance.links) {}

int ChipGraph::chips() const {
  return static_cast<int>(tables_->neighbours.size());
}

const std::vector<int>& ChipGraph::neighbours(int chip) const {
  return tables_->neighbours.at(static_cast<std::size_t>(chip));
}

bool ChipGraph::adjacent(int a, int b) const {
  return hops(a, b) == 1;
}

int ChipGraph::hops(int a, int b) const {
  return tables_->hops.at(static_cast<std::size_t>(a)).at(static_cast<std::size_t>(b));
}

std::vector<int> ChipGraph::route(int a, int b) const {
  if (hops(a, b) < 0) return {};
  std::vector<int> path{a};
  while (path.back() != b) {
    const int here = path.back();
    for (const int next : neighbours(here)) {
      if (hops(next, b) != hops(here, b) - 1) continue;
      path.push_back(next);
      break;
    }
  }
  return path;
}

std::optional<std::vector<int>> ChipGraph::ring(std::vector<int> chips) const {
  sort_unique(chips);
  return tables_->ring(chips);
}

std::vector<std::vector<int>> ChipGraph::disjoint_rings(const std::vector<int>& chips) const {
  std::vector<int> members = chips;
  sort_unique(members);
  if (members.size() >= 3) {
    std::optional<std::vector<int>> second;
    int tries = 0;
    const auto has_partner = [&](const std::vector<int>& first) {
      second = tables_->cycle(members, edges_of(first), [](const auto&) { return true; });
      return second.has_value() || ++tries >= kMostRingsTried;
    };
    const auto first = tables_->cycle(members, {}, has_partner);
    if (first && second) return {*first, *second};
  }
  const auto only = tables_->ring(members);
  if (!only) return {};
  return {*only};
}

}  // namespace trnplan::topology
