#include "topology/rank_order.h"

#include <algorithm>
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

// aws-neuron/neuronx-distributed@fbac349b, parallel_state.py:177-371: with LNC 2 and TP 32 the first TP group
// of an instance is ranks 0-15 and 48-63, the second 16-47.
TEST_CASE("TP of half a trn2 instance takes rows 0 and 3", "[topology]") {
  const auto range = [](std::vector<std::pair<int, int>> spans) {
    Group g;
    for (const auto& [first, last] : spans) {
      for (int r = first; r <= last; ++r) g.push_back(r);
    }
    return g;
  };
  const RankOrder lnc2(Cluster{trn2(2), 2}, {.tensor = 32, .data = 4});
  CHECK(lnc2.half_order());
  CHECK(lnc2.groups(GroupKind::tensor) == std::vector<Group>{range({{0, 15}, {48, 63}}), range({{16, 47}}),
                                                             range({{64, 79}, {112, 127}}),
                                                             range({{80, 111}})});
  // By position: the 1st and the 17th rank of the four groups.
  CHECK(lnc2.groups(GroupKind::data)[0] == Group{0, 16, 64, 80});
  CHECK(lnc2.groups(GroupKind::data)[16] == Group{48, 32, 112, 96});
  const RankOrder lnc1(Cluster{trn2(1), 1}, {.tensor = 64, .data = 2});
  CHECK(lnc1.groups(GroupKind::tensor) == std::vector<Group>{range({{0, 31}, {96, 127}}), range({{32, 95}})});
  // A stage of half an instance is one TP group.
  const RankOrder stages(Cluster{trn2(2), 1}, {.tensor = 32, .pipeline = 2});
  for (int r = 0; r < 64; ++r) CHECK(stages.stage_of(r) == (r < 16 || r >= 48 ? 0 : 1));
  CHECK(stages.groups(GroupKind::pipeline).front() == Group{0, 16});
}

TEST_CASE("other TP degrees of trn2 are contiguous", "[topology]") {
  CHECK_FALSE(RankOrder(Cluster{trn2(2), 1}, {.tensor = 16, .data = 4}).half_order());
  CHECK_FALSE(RankOrder(Cluster{trn2(2), 1}, {.tensor = 64}).half_order());
  CHECK_FALSE(RankOrder(Cluster{trn2(1), 1}, {.tensor = 32, .data = 4}).half_order());
  CHECK_FALSE(RankOrder(Cluster{trn2(2), 1}, {.tensor = 4, .data = 16}).column_order());
  CHECK(RankOrder(Cluster{trn2(2), 1}, {.tensor = 4, .data = 16}).groups(GroupKind::tensor)[1] ==
        Group{4, 5, 6, 7});
  Instance part = trn2(2);  // 16 cores: a world below 64
  part.chips = 4;
  CHECK_FALSE(RankOrder(Cluster{part, 2}, {.tensor = 32}).half_order());
}

// NxD: trn1 takes every (T/r)-th rank, trn2 r adjacent ones (parallel_state.py:1605-1645).
TEST_CASE("KV replicas on trn2 are adjacent ranks of the TP group", "[topology]") {
  const RankOrder order(Cluster{trn2(2), 1}, {.tensor = 32, .data = 2});
  const auto copies = order.kv_groups(4);  // 8 KV heads
  CHECK(copies.size() == 16);
  CHECK(copies[0] == Group{0, 1, 2, 3});
  CHECK(copies[4] == Group{48, 49, 50, 51});
  CHECK(copies[8] == Group{16, 17, 18, 19});
}

TEST_CASE("the trn2 orders are bijections that agree with their stages", "[topology][property]") {
  struct Case {
    int lnc, nodes;
    Degrees degrees;
  };
  const auto c = GENERATE(values<Case>({{2, 1, {32, 1, 2, 1}},
                                        {2, 1, {32, 1, 1, 2}},
                                        {2, 1, {32, 2, 1, 1}},
                                        {2, 2, {32, 1, 2, 2}},
                                        {2, 3, {32, 1, 1, 6}},
                                        {2, 4, {32, 2, 2, 2}},
                                        {1, 2, {64, 1, 2, 2}},
                                        {1, 1, {64, 1, 1, 2}},
                                        {2, 2, {16, 2, 2, 2}}}));
  const Cluster cluster{trn2(c.lnc), c.nodes};
  const RankOrder order(cluster, c.degrees);
  std::set<int> ranks;
  for (int p = 0; p < c.degrees.pipeline; ++p) {
    for (int d = 0; d < c.degrees.data; ++d) {
      for (int x = 0; x < c.degrees.context; ++x) {
        for (int t = 0; t < c.degrees.tensor; ++t) {
          const int r = order.rank(p, d, x, t);
          CHECK(order.stage_of(r) == p);
          ranks.insert(r);
        }
      }
    }
  }
  CHECK(ranks.size() == static_cast<std::size_t>(cluster.cores()));
  CHECK(*ranks.begin() == 0);
  CHECK(*ranks.rbegin() == cluster.cores() - 1);
}

// A search judges distinct groups only: one that is left out must differ by whole nodes from one that is kept,
// and the first of each kind must be kept. Catches a period that is no whole number of blocks of the order, and
// the closing pairs of the pipeline.
TEST_CASE("groups that are not distinct are shifts of earlier ones by whole nodes", "[topology]") {
  constexpr int kCores = 32;
  const auto shifted = [](const Group& a, const Group& b) {
    if (a.size() != b.size() || (b[0] - a[0]) % kCores != 0) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (b[i] - a[i] != b[0] - a[0]) return false;
    return true;
  };
  for (const Degrees& d :
       {Degrees{.tensor = 8, .context = 2, .data = 6, .pipeline = 3},
        Degrees{.tensor = 4, .data = 8, .pipeline = 9}, Degrees{.tensor = 32, .data = 3, .pipeline = 3},
        Degrees{.tensor = 2, .context = 4, .data = 18, .pipeline = 2}, Degrees{.data = 288},
        Degrees{.pipeline = 288}}) {
    const RankOrder order(nodes(9), d);
    for (const GroupKind kind :
         {GroupKind::tensor, GroupKind::context, GroupKind::data, GroupKind::pipeline}) {
      const auto kept = order.distinct_groups(kind, kCores);
      auto next = kept.begin();
      for (const Group& group : order.groups(kind)) {
        if (next != kept.end() && *next == group) {
          ++next;
          continue;
        }
        CHECK(std::any_of(kept.begin(), next, [&](const Group& k) { return shifted(k, group); }));
      }
      CHECK(next == kept.end());
    }
  }
}
