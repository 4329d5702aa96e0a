#include "topology/verdict.h"

#include <numeric>
#include <stdexcept>

#include "tests/catch.h"
#include "tests/topology/machines.h"

using namespace trnplan::topology;

namespace {

PlacementVerdict verdict_of(int nodes, Degrees degrees) {
  const Cluster cluster{torus_4x4(), nodes};
  return judge_all(cluster, ChipGraph(cluster.instance), RankOrder(cluster, degrees));
}

GroupVerdict judge_group(GroupKind kind, const std::vector<int>& ranks, int nodes = 2) {
  const Cluster cluster{torus_4x4(), nodes};
  return judge(cluster, ChipGraph(cluster.instance), kind, ranks);
}

}  // namespace

// Evidence: documented degrees 2, 8, 32 and the 8x4 mesh (aws-neuron-sdk@89a72682), NxD's TP 4 column order,
// the refused TP 16 x DP 2 of the tutorial (2026-01-17), disagreeing reports on TP 2 x DP 16 (optimum-neuron
// issue 761).
TEST_CASE("TP x DP on one trn1.32xlarge", "[topology]") {
  struct Case {
    int tensor;
    Verdict verdict;
  };
  const auto c = GENERATE(values<Case>({{1, Verdict::supported},
                                        {2, Verdict::doubtful},
                                        {4, Verdict::supported},
                                        {8, Verdict::supported},
                                        {16, Verdict::refused},
                                        {32, Verdict::supported}}));
  CAPTURE(c.tensor);
  CHECK(verdict_of(1, {.tensor = c.tensor, .data = 32 / c.tensor}).overall == c.verdict);
}

TEST_CASE("TP 4 in contiguous order would be refused", "[topology]") {
  // Every fourth rank: chips 0, 2, 4, ... 14 have no two neighbours in a ring.
  CHECK(judge_group(GroupKind::data, {0, 4, 8, 12, 16, 20, 24, 28}).verdict == Verdict::refused);
}

TEST_CASE("TP 16 x DP 2 is refused for its DP pair, not its TP group", "[topology]") {
  for (const GroupVerdict& g : verdict_of(1, {.tensor = 16, .data = 2}).groups) {
    if (g.kind == GroupKind::tensor) {
      CHECK(g.verdict == Verdict::supported);
    } else {
      CHECK(g.verdict == Verdict::refused);
      CHECK(g.rule == "not-adjacent");
    }
  }
  const GroupVerdict pair = judge_group(GroupKind::data, {1, 17});
  CHECK(pair.chips == std::vector<int>{0, 8});
  CHECK(pair.message.find("two hops") != std::string::npos);
}

TEST_CASE("the shipped Llama-2 70B layout is doubtful for its pipeline pairs", "[topology]") {
  const PlacementVerdict v = verdict_of(8, {.tensor = 8, .data = 2, .pipeline = 16});
  CHECK(v.overall == Verdict::doubtful);
  for (const GroupVerdict& g : v.groups) {
    if (g.kind != GroupKind::pipeline) CHECK(g.verdict == Verdict::supported);
  }
}

TEST_CASE("layouts that ran", "[topology]") {
  CHECK(verdict_of(1, {.tensor = 8, .pipeline = 4}).overall == Verdict::supported);
  CHECK(verdict_of(1, {.tensor = 2, .data = 4, .pipeline = 4}).overall == Verdict::supported);
  CHECK(verdict_of(4, {.tensor = 8, .data = 4, .pipeline = 4}).overall == Verdict::supported);
  CHECK(verdict_of(16, {.tensor = 8, .data = 64}).overall == Verdict::supported);
  CHECK(verdict_of(16, {.tensor = 32, .data = 2, .pipeline = 8}).overall == Verdict::supported);
  CHECK(verdict_of(64, {.tensor = 32, .data = 2, .pipeline = 32}).overall == Verdict::supported);
}

TEST_CASE("across nodes the local parts must be alike and legal", "[topology]") {
  CHECK(judge_group(GroupKind::data, {0, 32}).verdict == Verdict::supported);
  CHECK(judge_group(GroupKind::data, {0, 33}).rule == "unequal-nodes");
  CHECK(judge_group(GroupKind::pipeline, {0, 33}).verdict == Verdict::doubtful);
  CHECK(judge_group(GroupKind::data, {0, 16, 32, 48}).verdict == Verdict::refused);
}

TEST_CASE("odd shapes", "[topology]") {
  CHECK(judge_group(GroupKind::tensor, {0, 1, 2}).rule == "partial-chips");
  CHECK(judge_group(GroupKind::tensor, {0, 1, 2, 3}).verdict == Verdict::doubtful);
  CHECK(judge_group(GroupKind::data, {0, 2}).rule == "adjacent-pair");
  CHECK(judge_group(GroupKind::tensor, {0, 1}).rule == "one-chip");
  Cluster no_efa{torus_4x4(), 2};
  no_efa.instance.nics = 0;
  CHECK(judge(no_efa, ChipGraph(no_efa.instance), GroupKind::data, {0, 32}).rule == "no-efa");
}

TEST_CASE("a fabric that is no torus needs data only", "[topology]") {
  const Cluster cluster{all_to_all(8), 1};
  std::vector<int> all(8);
  std::iota(all.begin(), all.end(), 0);
  CHECK(judge(cluster, ChipGraph(cluster.instance), GroupKind::tensor, all).verdict == Verdict::supported);
  CHECK(judge(cluster, ChipGraph(cluster.instance), GroupKind::data, {0, 5}).verdict == Verdict::supported);
  CHECK(draw_torus(cluster.instance, {}).empty());
}

TEST_CASE("the drawing marks chips", "[topology]") {
  const std::string drawing = draw_torus(torus_4x4(), {0, 8});
  CHECK(drawing.find("[0]") != std::string::npos);
  CHECK(drawing.find("[8]") != std::string::npos);
  CHECK(drawing.find("[4]") == std::string::npos);
}

// Copies of KV heads are reduced in groups of their own: ranks j, j + T/r, ... of a TP group. 8 KV heads at
// TP 32 (r = 4) give columns; 4 KV heads at TP 8 (r = 2) pairs {0, 4}, chips 0 and 2, two hops apart.
TEST_CASE("groups of KV replicas are judged too", "[topology]") {
  const Cluster cluster{torus_4x4(), 1};
  const ChipGraph graph(cluster.instance);
  const RankOrder tp32(cluster, {.tensor = 32}), tp8(cluster, {.tensor = 8, .data = 4});
  CHECK(tp32.kv_groups(4).front() == std::vector<int>{0, 8, 16, 24});
  CHECK(judge_all(cluster, graph, tp32, 4).overall == Verdict::supported);
  CHECK(judge_all(cluster, graph, tp32, 8).overall == Verdict::refused);
  CHECK(judge_all(cluster, graph, tp8, 1).overall == Verdict::supported);
  const PlacementVerdict refused = judge_all(cluster, graph, tp8, 2);
  CHECK(refused.overall == Verdict::refused);
  REQUIRE(refused.offending);
  CHECK(refused.offending->kind == GroupKind::kv_replicas);
  CHECK(refused.offending->ranks == std::vector<int>{0, 4});
  CHECK_THROWS_AS(tp8.kv_groups(3), std::invalid_argument);
}

TEST_CASE("the short verdict is that of the long one", "[topology][property]") {
  for (const int nodes : {1, 2, 3, 8}) {
    for (const int tensor : {1, 2, 4, 8, 16, 32}) {
      for (const int pipeline : {1, 2, 4}) {
        const Cluster cluster{torus_4x4(), nodes};
        const Degrees d{tensor, 1, nodes * 32 / tensor / pipeline, pipeline};
        if (!RankOrder::obstacle(cluster, d).empty()) continue;
        const ChipGraph graph(cluster.instance);
        const PlacementVerdict all = judge_all(cluster, graph, RankOrder(cluster, d));
        const PlacementVerdict worst = judge_worst(cluster, graph, RankOrder(cluster, d));
        CHECK(all.overall == worst.overall);
        CHECK(all.offending.has_value() == worst.offending.has_value());
        if (all.offending) CHECK(all.offending->ranks == worst.offending->ranks);
        for (const GroupVerdict& g : all.groups) CHECK(g.verdict <= all.overall);
      }
    }
  }
}
