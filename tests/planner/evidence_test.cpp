#include "planner/evidence.h"

#include "planner/rules.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "topology/chip_graph.h"

using namespace trnplan;
using planner::Evidence;

namespace {

Evidence seen(const char* kind, std::vector<int> ranks, std::vector<int> chips, bool accepted) {
  Evidence e;
  e.rule = "replica-group";
  e.accepted = accepted;
  e.instance = "trn1.32xlarge";
  e.kind = kind;
  e.ranks = std::move(ranks);
  e.chips = std::move(chips);
  e.file = "train.log";
  e.line = 7;
  return e;
}

topology::GroupVerdict verdict_on(topology::GroupKind kind, const std::vector<int>& ranks) {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const topology::ChipGraph graph(job.cluster.instance);
  return topology::judge(job.cluster, graph, kind, ranks);
}

}  // namespace

TEST_CASE("what was observed stands beside a verdict", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const auto& instance = job.cluster.instance;
  const auto pair = verdict_on(topology::GroupKind::data, {0, 16});  // chips 0 and 8: two hops
  REQUIRE(pair.verdict == topology::Verdict::refused);
  // Another pair of the same chips counts.
  CHECK(planner::observed({seen("dp", {1, 17}, {0, 8}, false)}, instance, pair) ==
        "observed in train.log:7: the runtime refused it");
  CHECK(planner::observed({seen("", {1, 17}, {0, 8}, false)}, instance, pair) ==
        "observed in train.log:7: the runtime refused it");
  CHECK(planner::observed({seen("dp", {1, 17}, {0, 8}, true)}, instance, pair) ==
        "but train.log:7 shows that the runtime accepted it");
  // Of other kinds, chips, sizes, nodes and instances nothing follows.
  CHECK(planner::observed({seen("pp", {1, 17}, {0, 8}, false)}, instance, pair).empty());
  CHECK(planner::observed({seen("dp", {1, 9}, {0, 4}, false)}, instance, pair).empty());
  CHECK(planner::observed({seen("dp", {0, 1, 16, 17}, {0, 8}, false)}, instance, pair).empty());
  Evidence other = seen("dp", {1, 17}, {0, 8}, false);
  other.nodes = 2;
  CHECK(planner::observed({other}, instance, pair).empty());
  other.nodes = 1;
  other.instance = "trn1n.32xlarge";
  CHECK(planner::observed({other}, instance, pair).empty());
}

TEST_CASE("a violation tells what was observed of its group", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const models::Strategy s = strategy_of(job, "tp=16,recompute=CoreAttention");
  const topology::ChipGraph graph(job.cluster.instance);
  auto broken = planner::replica_group_violation(planner::placement_verdict(job, s, graph));
  REQUIRE(broken.size() == 1);
  const std::string before = broken[0].message;
  planner::annotate(broken[0], {seen("dp", {1, 17}, {0, 8}, false)}, job, s);
  CHECK(broken[0].message == before + "; observed in train.log:7: the runtime refused it");
  planner::Violation memory{"memory", "m", "f"};
  planner::annotate(memory, {seen("dp", {1, 17}, {0, 8}, false)}, job, s);
  CHECK(memory.message == "m");
}

TEST_CASE("evidence against a plan is told once, as is memory that did not do", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const models::Strategy s = strategy_of(job, "tp=8,recompute=full");  // rows: supported
  const Evidence row = seen("tp", {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3}, false);
  const auto lines = planner::remarks_on({row}, job, s);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("is supported by the rules, but train.log:7 shows that the runtime refused it") !=
        std::string::npos);
  CHECK(planner::remarks_on({seen("tp", row.ranks, row.chips, true)}, job, s).empty());  // no news

  Evidence full;
  full.rule = "memory";
  full.instance = "trn1.32xlarge";
  full.model = "llama3-8b";
  full.strategy = models::describe(s);
  full.sequence = 8192;
  full.bytes = 17.5 * 0x1p30;
  full.file = "c.log";
  const auto memory = planner::remarks_on({full}, job, s);
  REQUIRE(memory.size() == 1);
  CHECK(memory[0] == full.strategy + " did not fit (17.50 GiB): observed in c.log");
  full.sequence = 4096;
  CHECK(planner::remarks_on({full}, job, s).empty());
}
