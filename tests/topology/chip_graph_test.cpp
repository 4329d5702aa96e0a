#include "topology/chip_graph.h"

#include <algorithm>
#include <numeric>
#include <random>
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

TEST_CASE("through one switch is one hop, through k in a row k", "[topology]") {
  // 0 and 1 on switch 4, 2 on switch 5, 4-5-6 in a row, 3 on switch 6.
  const ChipGraph g(4, 3, {{0, 4}, {1, 4}, {2, 5}, {3, 6}, {4, 5}, {5, 6}});
  CHECK(g.switches() == 3);
  CHECK(g.neighbours(0) == std::vector<int>{1});
  CHECK(g.neighbours(2).empty());
  CHECK(g.hops(0, 1) == 1);
  CHECK(g.hops(0, 2) == 2);
  CHECK(g.hops(0, 3) == 3);
  CHECK(g.hops(3, 0) == 3);
  CHECK(g.route(0, 1) == std::vector<int>{0, 4, 1});
  CHECK(g.route(3, 1) == std::vector<int>{3, 6, 5, 4, 1});
  CHECK_FALSE(g.ring({0, 2}));
  CHECK(g.ring({0, 1}));
  CHECK_THROWS_AS(g.hops(0, 4), std::out_of_range);
  CHECK_THROWS_AS(g.hops(4, 0), std::out_of_range);
  CHECK_THROWS_AS(g.neighbours(4), std::out_of_range);
  CHECK_THROWS_AS(g.ring({0, 4}), std::out_of_range);
}

TEST_CASE("chips pass on between switches", "[topology]") {
  // 0 - switch 3 - 1 - switch 4 - 2: two hops, through chip 1.
  const ChipGraph g(3, 2, {{0, 3}, {1, 3}, {1, 4}, {2, 4}});
  CHECK(g.hops(0, 2) == 2);
  CHECK(g.route(0, 2) == std::vector<int>{0, 3, 1, 4, 2});
  CHECK_FALSE(g.ring({0, 1, 2}));
}

TEST_CASE("three chips on a switch are a triangle of one ring", "[topology]") {
  const ChipGraph g(3, 1, {{0, 3}, {1, 3}, {2, 3}});
  CHECK(g.ring({0, 1, 2}) == std::vector<int>{0, 1, 2});
  CHECK(g.disjoint_rings({0, 1, 2}).size() == 1);
}

TEST_CASE("rings on a switch share its ports", "[topology]") {
  std::vector<Link> links;
  for (int c = 0; c < 8; ++c) links.push_back({c, 8});
  std::vector<int> all(8);
  std::iota(all.begin(), all.end(), 0);
  CHECK(ChipGraph(8, 1, links).disjoint_rings(all).size() == 1);
  // A ring of links besides: one ring over each, as route() prefers the link.
  for (int c = 0; c < 8; ++c) links.push_back({c, (c + 1) % 8});
  const ChipGraph both(8, 1, links);
  CHECK(both.route(0, 1) == std::vector<int>{0, 1});
  CHECK(both.route(0, 2) == std::vector<int>{0, 8, 2});
  CHECK(both.disjoint_rings(all).size() == 2);
}

// Each of the 8 chips has 7 links and a ring takes two: three rings, 24 of the 28 links.
TEST_CASE("all to all by links", "[topology]") {
  const ChipGraph g(all_to_all(8));
  std::vector<int> all(8);
  std::iota(all.begin(), all.end(), 0);
  CHECK(g.hops(2, 7) == 1);
  CHECK(g.ring(all) == all);
  const auto rings = g.disjoint_rings(all);
  CHECK(rings.size() == 3);
  std::set<std::pair<int, int>> edges;
  for (const auto& ring : rings) {
    CHECK(is_ring(g, ring));
    for (std::size_t i = 0; i < ring.size(); ++i) edges.insert(std::minmax(ring[i], ring[(i + 1) % 8]));
  }
  CHECK(edges.size() == 24);
}

TEST_CASE("small and odd graphs", "[topology]") {
  const ChipGraph one(1, {});
  CHECK(one.hops(0, 0) == 0);
  CHECK(one.route(0, 0) == std::vector<int>{0});
  CHECK(one.ring({0}) == std::vector<int>{0});
  CHECK(one.disjoint_rings({0}).size() == 1);
  CHECK_FALSE(one.ring({}));
  const ChipGraph twice(2, {{0, 1}, {1, 0}, {0, 1}});  // named twice counts once
  CHECK(twice.neighbours(0) == std::vector<int>{1});
  CHECK(twice.disjoint_rings({0, 1}).size() == 1);
  // Two triangles without a link between them: every chip has two neighbours, still no ring.
  CHECK_FALSE(ChipGraph(6, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {4, 5}, {5, 3}}).ring({0, 1, 2, 3, 4, 5}));
}

TEST_CASE("large fabrics are searched within a bound", "[topology]") {
  struct Case {
    const char* name;
    std::vector<int> dimensions;
    std::size_t rings;  ///< at least
  };
  const auto c = GENERATE(values<Case>({{"ring", {1024}, 1},
                                        {"square", {32, 32}, 1},
                                        {"odd sides", {31, 31}, 1},
                                        {"unequal sides", {31, 33}, 1},
                                        {"UltraServer", {4, 4, 4}, 1},
                                        {"cube", {8, 8, 16}, 1}}));
  CAPTURE(c.name);
  int chips = 1;
  for (const int d : c.dimensions) chips *= d;
  const ChipGraph g(chips, torus_links(c.dimensions));
  std::vector<int> all(static_cast<std::size_t>(chips));
  std::iota(all.begin(), all.end(), 0);
  const auto ring = g.ring(all);
  REQUIRE(ring);
  CHECK(ring->size() == all.size());
  CHECK(ring->front() == 0);
  CHECK((*ring)[1] < ring->back());
  CHECK(is_ring(g, *ring));
  CHECK(g.disjoint_rings(all).size() >= c.rings);
  // A torus of even sides has two colours; without one chip they are uneven.
  if (chips % 2 == 0) CHECK_FALSE(g.ring({all.begin(), all.end() - 1}));
}

TEST_CASE("a row of a large torus between two half lines", "[topology]") {
  // The farthest chips of a 32 x 32 torus are 16 + 16 hops apart: row 16, column 16.
  const ChipGraph g(1024, torus_links({32, 32}));
  CHECK(g.hops(0, 16 * 32 + 16) == 32);
  CHECK(g.route(0, 16 * 32 + 16).size() == 33);
}

TEST_CASE("random fabrics", "[topology][property]") {
  const unsigned seed = 20260117;
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const int chips = 1 + below(10), switches = below(4), vertices = chips + switches;
    std::vector<Link> links;
    for (int l = below(3 * vertices); l > 0 && vertices > 1; --l) {
      const int a = below(vertices), b = below(vertices);
      if (a != b) links.push_back({a, b});
    }
    const ChipGraph g(chips, switches, links);
    for (int a = 0; a < chips; ++a) {
      CHECK(g.hops(a, a) == 0);
      for (int b = 0; b < chips; ++b) {
        CHECK(g.hops(a, b) == g.hops(b, a));
        CHECK(g.adjacent(a, b) == (g.hops(a, b) == 1));
        const auto route = g.route(a, b);
        CHECK(route.empty() == (g.hops(a, b) < 0));
        // Links less the entries into switches from chips are the hops.
        int length = 0;
        for (std::size_t i = 0; i + 1 < route.size(); ++i) {
          length += route[i] < chips && route[i + 1] >= chips ? 0 : 1;
          const Link step{route[i], route[i + 1]};
          CHECK(std::any_of(links.begin(), links.end(), [&](const Link& l) {
            return std::minmax(l.chip_a, l.chip_b) == std::minmax(step.chip_a, step.chip_b);
          }));
        }
        if (!route.empty()) CHECK(length == g.hops(a, b));
        for (int c = 0; c < chips; ++c) {
          if (g.hops(a, c) < 0 || g.hops(c, b) < 0) continue;
          CHECK(g.hops(a, b) <= g.hops(a, c) + g.hops(c, b));
        }
      }
    }
    std::vector<int> members;
    for (int c = 0; c < chips; ++c) {
      if (below(3) > 0) members.push_back(c);
    }
    const auto rings = g.disjoint_rings(members);
    CHECK(rings.empty() != g.ring(members).has_value());
    std::set<std::pair<int, int>> used;
    for (const auto& ring : rings) {
      CHECK(std::set<int>(ring.begin(), ring.end()) == std::set<int>(members.begin(), members.end()));
      if (ring.size() < 3) continue;
      CHECK(is_ring(g, ring));
      std::set<std::pair<int, int>> own;
      for (std::size_t i = 0; i < ring.size(); ++i) {
        const auto route = g.route(ring[i], ring[(i + 1) % ring.size()]);
        for (std::size_t j = 0; j + 1 < route.size(); ++j) own.insert(std::minmax(route[j], route[j + 1]));
      }
      for (const auto& link : own) CHECK(used.insert(link).second);
    }
  }
}

TEST_CASE("links outside the node are refused", "[topology]") {
  CHECK_THROWS_AS(ChipGraph(2, {{0, 2}}), std::invalid_argument);
  CHECK_THROWS_AS(ChipGraph(2, {{1, 1}}), std::invalid_argument);
  CHECK_THROWS_AS(ChipGraph(0, {}), std::invalid_argument);
  CHECK_THROWS_AS(ChipGraph(2, 1, {{0, 3}}), std::invalid_argument);
  CHECK_THROWS_AS(ChipGraph(2, -1, {}), std::invalid_argument);
}
