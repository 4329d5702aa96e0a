#include "topology/verdict.h"

#include <algorithm>
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

TEST_CASE("a fabric that is not a torus needs data only", "[topology]") {
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

// NxD's lists of meshes on one trn2 instance (aws-neuron/neuronx-distributed@fbac349b,
// parallel_state.py:341-371): TP 4, 16, 32, 64 with LNC 2 and TP 4, 8, 32, 64, 128 with LNC 1; not TP 8 and
// TP 16. They follow from the rule: two hops lie between the chips of the data-parallel groups {0, 8, ...}
// and {0, 16, ...}, chips 0, 2, 4, ... The runtime got 8x8 in 2.24.
TEST_CASE("TP x DP on one trn2 instance", "[topology]") {
  struct Case {
    int lnc, tensor;
    Verdict verdict;
  };
  const auto c = GENERATE(values<Case>({{2, 4, Verdict::supported},
                                        {2, 8, Verdict::doubtful},
                                        {2, 16, Verdict::supported},
                                        {2, 32, Verdict::supported},
                                        {2, 64, Verdict::supported},
                                        {1, 4, Verdict::supported},
                                        {1, 8, Verdict::supported},
                                        {1, 16, Verdict::refused},
                                        {1, 32, Verdict::supported},
                                        {1, 64, Verdict::supported},
                                        {1, 128, Verdict::supported}}));
  CAPTURE(c.lnc, c.tensor);
  const Cluster cluster{trn2(c.lnc), 1};
  const RankOrder order(cluster, {.tensor = c.tensor, .data = 128 / c.lnc / c.tensor});
  const PlacementVerdict v = judge_all(cluster, ChipGraph(cluster.instance), order);
  CHECK(v.overall == c.verdict);
  for (const GroupVerdict& g : v.groups) {
    if (g.verdict == Verdict::supported) continue;
    CHECK(g.source.find("parallel_state.py") != std::string::npos);
    if (g.kind == GroupKind::data) CHECK(g.rule == (c.lnc == 2 ? "two-hop-ring" : "no-ring"));
  }
}

TEST_CASE("contiguous halves of a trn2 instance would be refused", "[topology]") {
  // "0 and 32 cant communicate directly": chips 0 and 8.
  const Cluster cluster{trn2(2), 1};
  CHECK(judge(cluster, ChipGraph(cluster.instance), GroupKind::data, {0, 32}).rule == "not-adjacent");
}

// On 16 cores of a trn2 (LNC 2, chips 0-3) TP 8 x CP 2 was refused, TP 4 x CP 4 ran.
TEST_CASE("context parallel on a quarter of a trn2 instance", "[topology]") {
  const Cluster cluster{trn2(2), 1};
  const ChipGraph graph(cluster.instance);
  const GroupVerdict refused = judge(cluster, graph, GroupKind::context, {0, 8});
  CHECK(refused.verdict == Verdict::refused);
  CHECK(refused.source.find("QIE") != std::string::npos);
  CHECK(judge(cluster, graph, GroupKind::tensor, {0, 1, 2, 3}).verdict == Verdict::supported);
  CHECK(judge(cluster, graph, GroupKind::context, {0, 4, 8, 12}).verdict == Verdict::supported);
}

TEST_CASE("a permute goes from rank to rank over direct links", "[topology]") {
  // TP 8 x CP 4 on trn1.32xlarge: chips 0, 4, 8, 12, a column. Two rows hold a ring, but rank 6 on chip 3 and
  // rank 8 on chip 4 share no link.
  CHECK(judge_group(GroupKind::context, {0, 8, 16, 24}).verdict == Verdict::supported);
  const GroupVerdict rows = judge_group(GroupKind::context, {0, 2, 4, 6, 8, 10, 12, 14});
  CHECK(rows.verdict == Verdict::refused);
  CHECK(rows.rule == "permute");
  CHECK(rows.message == "rank 6 passes on to rank 8, but chips 3 and 4 share no link");
  CHECK(judge_group(GroupKind::data, {0, 2, 4, 6, 8, 10, 12, 14}).verdict == Verdict::doubtful);
  // The same chips in the order of their ring; and over two nodes, where the network is between.
  CHECK(judge_group(GroupKind::context, {0, 2, 4, 6, 14, 12, 10, 8}).verdict == Verdict::doubtful);
  CHECK(judge_group(GroupKind::context, {0, 8, 16, 24, 32, 40, 48, 56}).verdict == Verdict::supported);
}

TEST_CASE("the shipped trn2 configs", "[topology]") {
  // conf/hf_llama3_70B_trn2_config.yaml: 8 nodes, TP 32, PP 4, DP 4; conf/hf_llama3_8B_trn2_config.yaml: TP
  // 16, DP 4.
  const Cluster eight{trn2(2), 8}, one{trn2(2), 1};
  const ChipGraph graph(one.instance);
  CHECK(judge_all(eight, graph, RankOrder(eight, {.tensor = 32, .data = 4, .pipeline = 4}), 4).overall ==
        Verdict::supported);
  CHECK(judge_all(one, graph, RankOrder(one, {.tensor = 16, .data = 4}), 2).overall == Verdict::supported);
}

TEST_CASE("kinds of groups with their rings", "[topology]") {
  const Cluster cluster{torus_4x4(), 1};
  const ChipGraph graph(cluster.instance);
  const auto rings_of = [&](Degrees d) {
    std::vector<std::size_t> counts;
    for (const KindVerdict& k : by_kind(graph, judge_all(cluster, graph, RankOrder(cluster, d))))
      counts.push_back(k.rings.size());
    return counts;
  };
  CHECK(rings_of({.tensor = 32}) == std::vector<std::size_t>{2});                // all chips
  CHECK(rings_of({.tensor = 8, .data = 4}) == std::vector<std::size_t>{1, 1});   // row, column
  CHECK(rings_of({.tensor = 16, .data = 2}) == std::vector<std::size_t>{1, 0});  // two rows, chips 0 and 8
  const auto kinds = by_kind(graph, judge_all(cluster, graph, RankOrder(cluster, {.tensor = 16, .data = 2})));
  CHECK(kinds[1].groups == 16);
  CHECK(kinds[1].ranks == 2);
  CHECK(kinds[1].worst.verdict == Verdict::refused);
}

TEST_CASE("several tori are drawn one after the other", "[topology]") {
  Instance i = trn2(2);
  i.chips = 64;
  i.torus_depth = 4;
  const std::string drawing = draw_torus(i, {63});
  CHECK(drawing.find("[63]") != std::string::npos);
  CHECK(std::count(drawing.begin(), drawing.end(), '\n') == 4 * 9 + 3);
  i.torus_depth = 3;  // does not fit the chips
  CHECK(draw_torus(i, {}).empty());
}

TEST_CASE("numbers in a row are a range", "[topology]") {
  CHECK(number_list({}).empty());
  CHECK(number_list({3}) == "3");
  CHECK(number_list({0, 1}) == "0, 1");
  CHECK(number_list({0, 1, 2}) == "0 to 2");
  CHECK(number_list({0, 4, 8, 12}) == "0, 4, 8, 12");
  CHECK(number_list({0, 1, 2, 3, 8, 12, 13, 14, 15}) == "0 to 3, 8, 12 to 15");
}
