#include "launch/health/health.h"

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/faults.h"

using namespace trnplan;

namespace {

/// A run whose sizes all take so many times the prediction; 0: it failed.
logs::NodeTest run(std::vector<std::string> nodes, double times,
                   std::vector<double> sizes = {64, 256, 1024}) {
  logs::NodeTest t;
  t.nodes = std::move(nodes);
  t.at = {"health.out", 1, 1};
  if (times == 0) {
    t.failure = "1 errors found - test failed";
    return t;
  }
  logs::NccomTable table;
  table.op = "all_reduce";
  table.ranks = static_cast<int>(32 * t.nodes.size());
  for (const double mebibytes : sizes) {
    logs::NccomRow row;
    row.bytes = mebibytes * 0x1p20;
    row.seconds = times * mebibytes * 1e-4 * static_cast<double>(t.nodes.size());
    row.type = "bf16";
    table.rows.push_back(row);
  }
  t.table = table;
  return t;
}

/// 0.1 ms a MiB and node, from 0.5 to 2 times that.
launch::Prediction predict(int nodes, const models::CollectiveRun& r, const SourcePos&) {
  const double seconds = r.bytes.value / 0x1p20 * 1e-4 * nodes;
  return {seconds, {seconds / 2, seconds * 2}};
}

io::HealthReport judge(const std::vector<logs::NodeTest>& tests, double factor = launch::kSlowRun) {
  return launch::judge_health(tests, factor, predict);
}

std::vector<std::string> names(const io::HealthReport& r) {
  std::vector<std::string> all;
  for (const io::SlowNode& n : r.slow) all.push_back(n.name);
  return all;
}

/// Every node alone and every pair of the rounds; `slow` nodes take so many times what they should, alone or in
/// pairs only.
std::vector<logs::NodeTest> cluster(int nodes, const std::map<int, double>& alone,
                                    const std::map<int, double>& pairs) {
  const auto of = [](const std::map<int, double>& all, int i) { return all.contains(i) ? all.at(i) : 1.0; };
  const auto name = [](int i) { return fmt::format("n{:03}", i); };
  std::vector<logs::NodeTest> tests;
  for (int i = 0; i < nodes; ++i) tests.push_back(run({name(i)}, of(alone, i)));
  for (const auto& round : launch::pair_rounds(nodes)) {
    for (const auto& [a, b] : round) {
      const double x = of(pairs, a), y = of(pairs, b);
      tests.push_back(run({name(a), name(b)}, x == 0 || y == 0 ? 0 : std::max(x, y)));
    }
  }
  return tests;
}

}  // namespace

TEST_CASE("rounds of pairs are disjoint, and each node meets two others", "[launch]") {
  CHECK(launch::pair_rounds(1).empty());
  CHECK(launch::pair_rounds(2) == std::vector<std::vector<std::pair<int, int>>>{{{0, 1}}});
  for (int nodes = 3; nodes <= 130; ++nodes) {
    CAPTURE(nodes);
    std::map<int, std::set<int>> met;
    const auto rounds = launch::pair_rounds(nodes);
    CHECK(rounds.size() == (nodes % 2 == 0 ? 2u : 3u));
    for (const auto& round : rounds) {
      std::set<int> busy;
      for (const auto& [a, b] : round) {
        CHECK(busy.insert(a).second);
        CHECK(busy.insert(b).second);
        met[a].insert(b);
        met[b].insert(a);
      }
    }
    for (int i = 0; i < nodes; ++i) CHECK(met[i].size() == 2);
  }
}

TEST_CASE("sound nodes, whatever the prediction misses by", "[launch]") {
  for (const int nodes : {1, 2, 3, 4, 5, 16}) {
    CAPTURE(nodes);
    const auto r = judge(cluster(nodes, {}, {}));
    CHECK(r.slow.empty());
    CHECK(r.nodes == nodes);
    CHECK(r.alone == nodes);
    CHECK(r.pairs == (nodes == 1 ? 0 : nodes == 2 ? 1 : nodes));
  }
  // All 1.9 times the prediction, within its interval; all 2.6 times: above 1.25 x 2.
  std::map<int, double> all;
  for (int i = 0; i < 4; ++i) all[i] = 1.9;
  CHECK(judge(cluster(4, all, all)).slow.empty());
  for (auto& [i, times] : all) times = 2.6;
  CHECK(judge(cluster(4, all, all)).slow.size() == 4);
}

TEST_CASE("a node that is slow alone, or in both its pairs, is named", "[launch]") {
  const auto alone = judge(cluster(5, {{3, 1.3}}, {}));
  CHECK(names(alone) == std::vector<std::string>{"n003"});
  CHECK(alone.slow[0].alone);
  CHECK_FALSE(alone.slow[0].in_pairs);
  CHECK(contains(alone.slow[0].problem, "alone 1.30 times as long as it should take"));
  CHECK(alone.slow[0].command ==
        std::vector<std::string>{"scontrol", "update", "nodename=n003", "state=drain", "reason=slow"});
  CHECK(judge(cluster(5, {{3, 1.24}}, {})).slow.empty());
  for (const int nodes : {3, 4, 5, 8, 128}) {
    CAPTURE(nodes);
    const auto r = judge(cluster(nodes, {}, {{nodes - 1, 1.5}}));
    CHECK(names(r) == std::vector<std::string>{fmt::format("n{:03}", nodes - 1)});
    CHECK(r.slow[0].in_pairs);
    CHECK(contains(r.slow[0].problem, "with n000 1.50 times as long as it should take"));
    CHECK(contains(r.slow[0].fix, "fi_info -p efa"));
  }
  // A single bad cable between two sound nodes names none of several.
  auto tests = cluster(4, {}, {});
  for (logs::NodeTest& t : tests) {
    if (t.nodes == std::vector<std::string>{"n001", "n002"}) t = run(t.nodes, 3);
  }
  const auto link = judge(tests);
  CHECK(link.slow.empty());
  CHECK(std::count_if(link.tests.begin(), link.tests.end(), [](const auto& t) { return t.slow; }) == 1);
  CHECK(judge(tests, 4).tests.back().slow == false);
}

TEST_CASE("runs that failed count as slow", "[launch]") {
  const auto r = judge(cluster(4, {{2, 0}}, {{2, 0}}));
  CHECK(names(r) == std::vector<std::string>{"n002"});
  CHECK(r.slow[0].alone);
  CHECK(r.slow[0].in_pairs);
  CHECK(contains(r.slow[0].problem, "alone failed: 1 errors found - test failed; with n003 failed: "));
}

// Catches nodes that are drained because a command line is missing.
TEST_CASE("a run that is not understood says nothing of its nodes", "[launch]") {
  logs::NodeTest nameless = run({"n"}, 1);
  CHECK(launch::not_understood(nameless).empty());
  CHECK(launch::not_understood(run({"n"}, 0)).empty());  // it failed
  nameless.table->op.clear();
  CHECK_FALSE(launch::not_understood(nameless).empty());
  nameless = run({"n"}, 1);
  nameless.table->ranks.reset();
  CHECK_FALSE(launch::not_understood(nameless).empty());
  nameless = run({"n"}, 1);
  nameless.table->rows[0].seconds = 0;
  CHECK_FALSE(launch::not_understood(nameless).empty());
}

TEST_CASE("two nodes have one pair, and a node between two slow ones is said to be", "[launch]") {
  const auto two = judge({run({"a"}, 1), run({"b"}, 1), run({"a", "b"}, 2.6)});
  CHECK(names(two) == std::vector<std::string>{"a", "b"});
  CHECK(contains(two.slow[0].problem, "its only pair"));
  const auto between = judge(cluster(8, {{2, 2}, {4, 2}}, {{2, 2}, {4, 2}}));
  CHECK(names(between) == std::vector<std::string>{"n002", "n003", "n004"});
  CHECK(contains(between.slow[1].problem, "perhaps only because these"));
  CHECK_FALSE(contains(between.slow[0].problem, "perhaps"));
}

TEST_CASE("of several sizes the median counts, and only runs of one kind are peers", "[launch]") {
  auto odd = run({"b"}, 1);
  odd.table->rows[1].seconds *= 5;  // one size of three
  CHECK(judge({run({"a"}, 1), odd, run({"c"}, 1)}).slow.empty());
  // Another size has no peers: only the prediction, whose upper end is twice.
  const auto r = judge({run({"a"}, 1), run({"b"}, 2.4, {512})});
  CHECK(r.slow.empty());
  CHECK_FALSE(r.tests[1].rows[0].peers);
  CHECK(r.tests[1].rows[0].ratio == Approx(1.2));
  CHECK(judge({run({"a"}, 1), run({"b"}, 2.6, {512})}).slow.size() == 1);
}
