#include "topology/chip_graph.h"

#include <algorithm>
#include <atomic>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/dijkstra_shortest_paths_no_color_map.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/range/iterator_range.hpp>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "topology/ring_search.h"

namespace trnplan::topology {

namespace {

using Graph = boost::compressed_sparse_row_graph<boost::directedS>;
using Edge = std::pair<int, int>;

Edge edge(int a, int b) {
  return {std::min(a, b), std::max(a, b)};
}

/// The graph with every link as two arcs; targets ascend.
Graph make_graph(int chips, int switches, const std::vector<Link>& links) {
  if (chips < 1) throw std::invalid_argument("a node needs at least one chip");
  if (switches < 0) throw std::invalid_argument("a node cannot have a negative number of switches");
  const int vertices = chips + switches;
  std::vector<Edge> arcs;
  for (const Link& l : links) {
    if (l.chip_a < 0 || l.chip_b < 0 || l.chip_a >= vertices || l.chip_b >= vertices ||
        l.chip_a == l.chip_b) {
      throw std::invalid_argument("link " + std::to_string(l.chip_a) + "-" + std::to_string(l.chip_b) +
                                  " does not join two chips or switches of 0.." +
                                  std::to_string(vertices - 1));
    }
    arcs.emplace_back(l.chip_a, l.chip_b);
    arcs.emplace_back(l.chip_b, l.chip_a);
  }
  std::sort(arcs.begin(), arcs.end());
  arcs.erase(std::unique(arcs.begin(), arcs.end()), arcs.end());
  return {boost::edges_are_sorted, arcs.begin(), arcs.end(), static_cast<std::size_t>(vertices)};
}

/// The other ends of the vertex's links, ascending.
auto linked(const Graph& g, int vertex) {
  const auto ends = boost::adjacent_vertices(static_cast<std::size_t>(vertex), g);
  return boost::make_iterator_range(ends.first, ends.second);
}

void sort_unique(std::vector<int>& v) {
  std::sort(v.begin(), v.end());
  v.erase(std::unique(v.begin(), v.end()), v.end());
}

/// Neighbours of every chip, over links and switches.
std::vector<std::vector<int>> neighbour_lists(const Graph& g, int chips) {
  std::vector<std::vector<int>> lists(static_cast<std::size_t>(chips));
  for (int c = 0; c < chips; ++c) {
    std::vector<int>& list = lists[static_cast<std::size_t>(c)];
    for (const std::size_t v : linked(g, c)) {
      const int vertex = static_cast<int>(v);
      if (vertex < chips) {
        list.push_back(vertex);
        continue;
      }
      for (const std::size_t other : linked(g, vertex)) {
        if (const int chip = static_cast<int>(other); chip < chips && chip != c) list.push_back(chip);
      }
    }
    sort_unique(list);
  }
  return lists;
}

bool take_any(const std::vector<int>&) {
  return true;
}

/// Number of first rings that are tried before a set counts as having no second one. The 4x4 torus needs
/// fewer than ten.
constexpr int kMostRingsTried = 2000;
/// Number of chips that a search may add to its paths: some 10 ms.
constexpr std::int64_t kMostSteps = 1'000'000;
/// Cost of checking the links of one chip of a ring, in steps.
constexpr std::int64_t kStepsOfLinks = 8;

/// Results of searches, each by its chips. Threads: any number; a search that several begin at once is done by each.
template <class Found>
class Remembered {
 public:
  template <class Search>
  Found of(const std::vector<int>& members, const Search& search) const {
    {
      const std::lock_guard lock(guard_);
      if (const auto known = found_.find(members); known != found_.end()) return known->second;
    }
    Found found = search();
    const std::lock_guard lock(guard_);
    return found_.emplace(members, std::move(found)).first->second;
  }

 private:
  mutable std::mutex guard_;
  mutable std::map<std::vector<int>, Found> found_;
};

/// A path through block after block that returns along each block's first chip. It is a ring when the blocks
/// are rings and equal places of consecutive blocks are neighbours. `order` is the ring of the first block as
/// places 0..order.size()-1.
std::vector<int> snake(const std::vector<int>& members, const std::vector<std::size_t>& order) {
  const std::size_t columns = order.size(), rows = members.size() / columns;
  std::vector<int> path{members[order[0]]};
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 1; i < columns; ++i)
      path.push_back(members[row * columns + order[row % 2 == 0 ? i : columns - i]]);
  }
  for (std::size_t row = rows - 1; row > 0; --row) path.push_back(members[row * columns + order[0]]);
  if (path[1] > path.back()) std::reverse(path.begin() + 1, path.end());
  return path;
}

}  // namespace

struct ChipGraph::Tables {
  Tables(int chip_count, int switch_count, const std::vector<Link>& links)
      : chips(chip_count),
        switches(switch_count),
        graph(make_graph(chip_count, switch_count, links)),
        neighbours(neighbour_lists(graph, chip_count)),
        rows(std::make_unique<std::atomic<const Row*>[]>(static_cast<std::size_t>(chip_count))) {}
  ~Tables() {
    for (int c = 0; c < chips; ++c) delete rows[static_cast<std::size_t>(c)].load();
  }
  Tables(const Tables&) = delete;
  Tables& operator=(const Tables&) = delete;

  using Row = std::vector<std::int16_t>;  ///< distance of every vertex to one chip; -1 without a path

  int chips, switches;
  Graph graph;
  std::vector<std::vector<int>> neighbours;
  Remembered<std::optional<std::vector<int>>> known_rings;
  Remembered<std::vector<std::vector<int>>> known_disjoint;

  bool adjacent(int a, int b) const {
    const auto& next = neighbours.at(static_cast<std::size_t>(a));
    return std::binary_search(next.begin(), next.end(), b);
  }

  /// Hops of the step between two vertices that share a link.
  int length(int from, int to) const { return from < chips && to >= chips ? 0 : 1; }

  /// Computes a row when it is first needed. If several threads need it at the same time, one row is kept and
  /// the others are dropped.
  const Row& distances_to(int chip) const {
    if (chip < 0 || chip >= chips) throw std::out_of_range("not a chip of the node");
    std::atomic<const Row*>& row = rows[static_cast<std::size_t>(chip)];
    if (const Row* known = row.load(std::memory_order_acquire)) return *known;
    auto fresh = std::make_unique<const Row>(search_back(chip));
    const Row* first = nullptr;
    return row.compare_exchange_strong(first, fresh.get()) ? *fresh.release() : *first;
  }

  /// Dijkstra's search against the direction of the steps; -1 for a vertex without a path to the chip.
  Row search_back(int chip) const {
    constexpr int kUnreachable = std::numeric_limits<int>::max();
    const std::size_t vertices = boost::num_vertices(graph);
    std::vector<int> distance(vertices);
    const auto index = boost::get(boost::vertex_index, graph);
    boost::dijkstra_shortest_paths_no_color_map(
        graph, static_cast<std::size_t>(chip),
        boost::weight_map(boost::make_function_property_map<boost::graph_traits<Graph>::edge_descriptor, int>(
                              [this](const auto& e) {
                                return length(static_cast<int>(boost::target(e, graph)),
                                              static_cast<int>(boost::source(e, graph)));
                              }))
            .distance_map(boost::make_iterator_property_map(distance.begin(), index))
            .vertex_index_map(index)
            .distance_inf(kUnreachable));
    Row row(vertices, -1);
    for (std::size_t v = 0; v < vertices; ++v) {
      if (distance[v] != kUnreachable) row[v] = static_cast<std::int16_t>(distance[v]);
    }
    return row;
  }

  std::vector<int> route(int a, int b) const {
    const auto& distance = distances_to(b);
    if (distance.at(static_cast<std::size_t>(a)) < 0) return {};
    std::vector<int> path{a};
    while (path.back() != b) {
      const int here = path.back();
      for (const std::size_t v : linked(graph, here)) {
        const int next = static_cast<int>(v);
        if (distance[v] != distance[static_cast<std::size_t>(here)] - length(here, next)) continue;
        path.push_back(next);
        break;
      }
    }
    return path;
  }

  std::set<Edge> links_of(const std::vector<int>& ring) const {
    std::set<Edge> used;
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const std::vector<int> path = route(ring[i], ring[(i + 1) % ring.size()]);
      for (std::size_t j = 0; j + 1 < path.size(); ++j) used.insert(edge(path[j], path[j + 1]));
    }
    return used;
  }

  /// True if route(a, b) of two neighbours avoids the links.
  bool avoids(int a, int b, const std::set<Edge>& links) const {
    if (switches == 0) return links.count(edge(a, b)) == 0;
    const std::vector<int> path = route(a, b);
    for (std::size_t j = 0; j + 1 < path.size(); ++j) {
      if (links.count(edge(path[j], path[j + 1])) > 0) return false;
    }
    return true;
  }

  /// The first ring of three or more chips that avoids the links and that `accept` takes.
  std::optional<std::vector<int>> cycle(const std::vector<int>& members, const std::set<Edge>& banned,
                                        const RingSearch::Accept& accept, std::int64_t& steps) const {
    RingSearch::Usable usable;
    if (!banned.empty()) usable = [&](int a, int b) { return avoids(a, b, banned); };
    RingSearch search(neighbours, members, std::move(usable), accept, steps);
    if (!search.run()) return std::nullopt;
    return search.path();
  }

  bool is_ring(const std::vector<int>& chips_in_order) const {
    for (std::size_t i = 0; i < chips_in_order.size(); ++i) {
      if (!adjacent(chips_in_order[i], chips_in_order[(i + 1) % chips_in_order.size()])) return false;
    }
    return true;
  }

  std::optional<std::vector<int>> ring(const std::vector<int>& members) const {
    if (members.empty()) return std::nullopt;
    if (members.front() < 0 || members.back() >= chips) throw std::out_of_range("not a chip of the node");
    if (members.size() == 1) return members;
    if (members.size() == 2) return adjacent(members[0], members[1]) ? std::optional(members) : std::nullopt;
    std::int64_t steps = kMostSteps;
    if (auto found = cycle(members, {}, take_any, steps); found || steps >= 0) return found;
    return snake_ring(members);
  }

  std::vector<std::vector<int>> disjoint_rings(const std::vector<int>& members) const {
    const auto only = ring(members);
    if (!only) return {};
    if (members.size() < 3) return {*only};

    std::int64_t steps = kMostSteps;
    std::optional<std::vector<int>> second;
    int tries = 0;
    const auto has_partner = [&](const std::vector<int>& first) {
      steps -= kStepsOfLinks * static_cast<std::int64_t>(first.size());
      second = cycle(members, links_of(first), take_any, steps);
      return second.has_value() || ++tries >= kMostRingsTried;
    };
    const auto first = cycle(members, {}, has_partner, steps);
    if (!first || !second) return {*only};

    std::vector<std::vector<int>> rings{*first};
    std::set<Edge> used;
    for (auto next = second; next; next = cycle(members, used, take_any, steps)) {
      rings.push_back(*next);
      used.clear();
      for (const auto& ring : rings) used.merge(links_of(ring));
    }
    return rings;
  }

  std::optional<std::vector<int>> snake_ring(const std::vector<int>& members) const {
    for (std::size_t columns = 2; columns <= members.size() / 2; ++columns) {
      if (members.size() % columns != 0) continue;
      const std::vector<int> block(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(columns));
      const auto block_ring = ring(block);
      if (!block_ring) continue;
      std::vector<std::size_t> order;
      for (const int chip : *block_ring) {
        const auto place = std::lower_bound(block.begin(), block.end(), chip) - block.begin();
        order.push_back(static_cast<std::size_t>(place));
      }
      if (auto path = snake(members, order); is_ring(path)) return path;
    }
    return std::nullopt;
  }

 private:
  std::unique_ptr<std::atomic<const Row*>[]> rows;
};

ChipGraph::ChipGraph(int chips, int switches, const std::vector<Link>& links)
    : tables_(std::make_shared<const Tables>(chips, switches, links)) {}

ChipGraph::ChipGraph(int chips, const std::vector<Link>& links) : ChipGraph(chips, 0, links) {}

ChipGraph::ChipGraph(const Instance& instance)
    : ChipGraph(instance.chips, instance.switches, instance.links) {}

int ChipGraph::chips() const {
  return tables_->chips;
}

int ChipGraph::switches() const {
  return tables_->switches;
}

const std::vector<int>& ChipGraph::neighbours(int chip) const {
  return tables_->neighbours.at(static_cast<std::size_t>(chip));
}

bool ChipGraph::adjacent(int a, int b) const {
  return tables_->adjacent(a, b);
}

int ChipGraph::hops(int a, int b) const {
  if (a < 0 || a >= chips()) throw std::out_of_range("not a chip of the node");
  return tables_->distances_to(b)[static_cast<std::size_t>(a)];
}

std::vector<int> ChipGraph::route(int a, int b) const {
  if (a < 0 || a >= chips()) throw std::out_of_range("not a chip of the node");
  return tables_->route(a, b);
}

std::optional<std::vector<int>> ChipGraph::ring(std::vector<int> chips) const {
  sort_unique(chips);
  return tables_->known_rings.of(chips, [&] { return tables_->ring(chips); });
}

std::vector<std::vector<int>> ChipGraph::disjoint_rings(const std::vector<int>& chips) const {
  std::vector<int> members = chips;
  sort_unique(members);
  return tables_->known_disjoint.of(members, [&] { return tables_->disjoint_rings(members); });
}

}  // namespace trnplan::topology
