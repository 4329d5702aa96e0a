#include "topology/chip_graph.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "tests/catch.h"
#include "tests/topology/machines.h"

using namespace trnplan::topology;

namespace {

bool is_ring(const ChipGraph& g, const std::vector<int>& ring) {
  for (std::size_t i = 0; i < ring.size(); ++i) {
    if (!g.adjacent(ring[i], ring[(i + 1) % ring.size()])) return false;
  }
  return std::set<int>(ring.begin(), ring.end()).size() == ring.size();
}

}  // namespace

TEST_CASE("neighbours of the torus", "[topology]") {
  const ChipGraph g(torus_4x4());
  CHECK(g.neighbours(0) == std::vector<int>{1, 3, 4, 12});
  CHECK(g.neighbours(15) == std::vector<int>{3, 11, 12, 14});
  for (int c = 0; c < 16; ++c) CHECK(g.neighbours(c).size() == 4);
}

TEST_CASE("hops on the torus are the wrapped Manhattan distance", "[topology]") {
  const ChipGraph g(torus_4x4());
  const auto along = [](int a, int b) { return std::min((a - b + 4) % 4, (b - a + 4) % 4); };
  for (int a = 0; a < 16; ++a) {
    for (int b = 0; b < 16; ++b) {
      CHECK(g.hops(a, b) == along(a / 4, b / 4) + along(a % 4, b % 4));
      const auto route = g.route(a, b);
      CHECK(static_cast<int>(route.size()) == g.hops(a, b) + 1);
    }
  }
  CHECK(g.hops(0, 8) == 2);
}

TEST_CASE("rings of the torus", "[topology]") {
  const ChipGraph g(torus_4x4());
  struct Case {
    const char* name;
    std::vector<int> chips;
    bool ring;
  };
  const auto c = GENERATE(values<Case>({
      {"one chip", {5}, true},
      {"adjacent pair", {0, 4}, true},
      {"pair two hops apart", {0, 8}, false},
      {"row", {0, 1, 2, 3}, true},
      {"column", {0, 4, 8, 12}, true},
      {"square", {0, 1, 4, 5}, true},
      {"diagonal", {0, 5, 10, 15}, false},
      {"three of a row", {0, 1, 2}, false},
      {"two rows", {0, 1, 2, 3, 4, 5, 6, 7}, true},
      {"rows 0 and 2", {0, 1, 2, 3, 8, 9, 10, 11}, false},
      {"every other chip", {0, 2, 4, 6, 8, 10, 12, 14}, false},
      {"all", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, true},
  }));
  CAPTURE(c.name);
  const auto ring = g.ring(c.chips);
  CHECK(ring.has_value() == c.ring);
  if (ring && ring->size() > 2) {
    CHECK(is_ring(g, *ring));
    CHECK(ring->size() == c.chips.size());
  }
}

TEST_CASE("all chips hold two rings that share no link, a row one", "[topology]") {
  const ChipGraph g(torus_4x4());
  std::vector<int> all(16);
  for (int c = 0; c < 16; ++c) all[static_cast<std::size_t>(c)] = c;
  const auto rings = g.disjoint_rings(all);
  REQUIRE(rings.size() == 2);
  // 2 rings x 16 edges = the torus's 32 links, each exactly once.
  std::set<std::pair<int, int>> edges;
  for (const auto& ring : rings) {
    CHECK(is_ring(g, ring));
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const int a = ring[i], b = ring[(i + 1) % ring.size()];
      edges.insert({std::min(a, b), std::max(a, b)});
    }
  }
  CHECK(edges.size() == 32);
  CHECK(g.disjoint_rings({0, 1, 2, 3}).size() == 1);
  CHECK(g.disjoint_rings({0, 1, 2, 3, 4, 5, 6, 7}).size() == 1);
  CHECK(g.disjoint_rings({0, 8}).empty());
}

TEST_CASE("chips without a path", "[topology]") {
  const ChipGraph g(4, {{0, 1}, {2, 3}});
  CHECK(g.hops(0, 2) == -1);
  CHECK(g.route(0, 2).empty());
  CHECK_FALSE(g.ring({0, 2}));
}

TEST_CASE("links outside the node are refused", "[topology]") {
  CHECK_THROWS_AS(ChipGraph(2, {{0, 2}}), std::invalid_argument);
  CHECK_THROWS_AS(ChipGraph(2, {{1, 1}}), std::invalid_argument);
  CHECK_THROWS_AS(ChipGraph(0, {}), std::invalid_argument);
}
