#include "topology/rank_order.h"

#include <set>
#include <stdexcept>

#include "tests/catch.h"
#include "tests/topology/machines.h"
#include "topology/placement.h"

using namespace trnplan::topology;

namespace {

Cluster nodes(int n) {
  return {torus_4x4(), n};
}
using Group = std::vector<int>;

}  // namespace

TEST_CASE("TP is the fastest coordinate, PP the slowest", "[topology]") {
  // 70B: TP 32, PP 8, DP 2 on 16 nodes: rank = (pp*2 + dp)*32 + tp.
  const RankOrder order(nodes(16), {.tensor = 32, .data = 2, .pipeline = 8});
  CHECK(order.rank(0, 1, 0, 5) == 37);
  CHECK(order.rank(3, 1, 0, 0) == 224);
  CHECK(order.groups(GroupKind::tensor).front().front() == 0);
  CHECK(order.groups(GroupKind::data).front() == Group{0, 32});
  CHECK(order.groups(GroupKind::pipeline).front() == Group{0, 64});
  CHECK(order.stage_of(511) == 7);
}

TEST_CASE("pipeline groups are pairs and close the ring beyond two stages", "[topology]") {
  const RankOrder four(nodes(1), {.tensor = 8, .pipeline = 4});
  const auto pairs = four.groups(GroupKind::pipeline);
  CHECK(pairs.size() == 32);
  CHECK(pairs.front() == Group{0, 8});
  CHECK(pairs.back() == Group{31, 7});
  CHECK(RankOrder(nodes(1), {.tensor = 16, .pipeline = 2}).groups(GroupKind::pipeline).size() == 16);
}

TEST_CASE("TP 4 on trn1 takes torus columns", "[topology]") {
  const RankOrder order(nodes(2), {.tensor = 4, .data = 16});
  CHECK(order.column_order());
  CHECK(order.groups(GroupKind::tensor)[0] == Group{0, 8, 16, 24});
  CHECK(order.groups(GroupKind::tensor)[1] == Group{1, 9, 17, 25});
  // DP groups are rows, joined across nodes.
  CHECK(order.groups(GroupKind::data)[0] == Group{0, 1, 2, 3, 4, 5, 6, 7, 32, 33, 34, 35, 36, 37, 38, 39});
  CHECK(order.groups(GroupKind::data)[1].front() == 8);
}

TEST_CASE("TP 4 needs whole columns", "[topology]") {
  CHECK_FALSE(RankOrder::obstacle(nodes(1), {.tensor = 4, .data = 4, .pipeline = 2}).empty());
  CHECK(RankOrder::obstacle(nodes(2), {.tensor = 4, .data = 8, .pipeline = 2}).empty());
  CHECK_THROWS_AS(RankOrder(nodes(1), {.tensor = 4, .data = 4, .pipeline = 2}), std::invalid_argument);
  CHECK_THROWS_AS(RankOrder(nodes(1), {.tensor = 8, .data = 3}), std::invalid_argument);
  CHECK_THROWS_AS(RankOrder(nodes(1), {.tensor = 0, .data = 32}), std::invalid_argument);
}

TEST_CASE("every rank is in exactly one group of a kind", "[topology]") {
  struct Case {
    int nodes;
    Degrees degrees;
  };
  const auto c = GENERATE(values<Case>({{1, {8, 1, 4, 1}},
                                        {1, {4, 1, 8, 1}},
                                        {2, {4, 2, 4, 2}},
                                        {2, {8, 2, 2, 2}},
                                        {4, {32, 2, 2, 1}},
                                        {3, {32, 1, 3, 1}}}));
  const RankOrder order(nodes(c.nodes), c.degrees);
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::data, GroupKind::context}) {
    std::multiset<int> seen;
    for (const Group& g : order.groups(kind)) seen.insert(g.begin(), g.end());
    if (seen.empty()) continue;
    CHECK(seen.size() == static_cast<std::size_t>(c.nodes * 32));
    CHECK(std::set<int>(seen.begin(), seen.end()).size() == seen.size());
  }
  std::set<int> ranks;
  for (int p = 0; p < c.degrees.pipeline; ++p) {
    for (int d = 0; d < c.degrees.data; ++d) {
      for (int x = 0; x < c.degrees.context; ++x) {
        for (int t = 0; t < c.degrees.tensor; ++t) ranks.insert(order.rank(p, d, x, t));
      }
    }
  }
  CHECK(ranks.size() == static_cast<std::size_t>(c.nodes * 32));
}

TEST_CASE("data-parallel nodes are one class, stages are their own", "[topology]") {
  const Cluster cluster = nodes(16);
  const RankOrder order(cluster, {.tensor = 32, .data = 2, .pipeline = 8});
  const Placement placement(cluster, order);
  CHECK(placement.classes() == 8);
  CHECK(placement.class_of_node(0) == placement.class_of_node(1));
  CHECK(placement.class_of_node(1) != placement.class_of_node(2));
  CHECK(placement.represents(0));
  CHECK_FALSE(placement.represents(32));
}
