#include "planner/confidence/observations.h"

#include "planner/check/rules.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "topology/chip_graph.h"

using namespace trnplan;
using planner::Observation;

namespace {

Observation seen(const char* kind, std::vector<int> ranks, std::vector<int> chips, bool accepted) {
  Observation e;
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

Observation memory_full(const models::Job& job, const models::Strategy& ran) {
  Observation e;
  e.rule = "memory";
  e.instance = job.cluster.instance.name;
  e.model = job.architecture.name;
  e.parameters = models::parameters(job.architecture);
  e.strategy = ran;
  e.sequence = job.training.sequence;
  e.bytes = 17.5 * 0x1p30;
  e.file = "c.log";
  return e;
}

topology::GroupVerdict verdict_on(topology::GroupKind kind, const std::vector<int>& ranks) {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const topology::ChipGraph graph(job.cluster.instance);
  return topology::judge(job.cluster, graph, kind, ranks);
}

}  // namespace

TEST_CASE("observations are shown with a verdict", "[planner]") {
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
  Observation other = seen("dp", {1, 17}, {0, 8}, false);
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

TEST_CASE("an observation against a plan is reported once, as is memory that was too small", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const models::Strategy s = strategy_of(job, "tp=8,recompute=full");  // rows: supported
  const Observation row = seen("tp", {0, 1, 2, 3, 4, 5, 6, 7}, {0, 1, 2, 3}, false);
  const auto lines = planner::remarks_on({row}, job, s);
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].find("is supported by the rules, but train.log:7 shows that the runtime refused it") !=
        std::string::npos);
  CHECK(planner::remarks_on({seen("tp", row.ranks, row.chips, true)}, job, s).empty());  // no news

  const Observation full = memory_full(job, s);
  const auto memory = planner::remarks_on({full}, job, s);
  REQUIRE(memory.size() == 1);
  CHECK(memory[0] == models::describe(s) + " did not fit (17.50 GiB): observed in c.log");
  Observation other = full;
  other.sequence = 4096;
  CHECK(planner::remarks_on({other}, job, s).empty());
}

TEST_CASE("memory is reported only for the strategy and model that ran", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const models::Strategy bf16 = strategy_of(job, "tp=16,recompute=CoreAttention");
  const auto reported = [&](const models::Strategy& ran) {
    return !planner::remarks_on({memory_full(job, ran)}, job, bf16).empty();
  };
  CHECK(reported(bf16));
  // describe() contains none of these: each takes other memory.
  for (const char* text : {"tp=16,recompute=CoreAttention,precision=fp32",
                           "tp=16,recompute=CoreAttention,kv=4", "tp=16,recompute=CoreAttention,bucket=20"}) {
    CAPTURE(text);
    const models::Strategy ran = strategy_of(job, text);
    CHECK(models::describe(ran) == models::describe(bf16));
    CHECK_FALSE(reported(ran));
  }
  CHECK_FALSE(reported(strategy_of(job, "tp=16,recompute=CoreAttention,flash=false")));
  models::Strategy named_otherwise = bf16;  // the same program
  named_otherwise.recompute.core_attention = false;
  CHECK(reported(named_otherwise));
  // Another config.json under the same name.
  models::Job wider = job;
  wider.architecture.intermediate *= 2;
  CHECK(planner::remarks_on({memory_full(wider, bf16)}, job, bf16).empty());
  Observation unknown = memory_full(wider, bf16);
  unknown.parameters = 0;
  CHECK(planner::remarks_on({unknown}, job, bf16).size() == 1);
}

TEST_CASE("a strategy recorded by an older version is reported with its doubt", "[planner]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  Observation old = memory_full(job, strategy_of(job, "tp=16,recompute=CoreAttention"));
  old.strategy_whole = false;
  for (const char* text : {"tp=16,recompute=CoreAttention", "tp=16,recompute=CoreAttention,precision=fp32"}) {
    const auto lines = planner::remarks_on({old}, job, strategy_of(job, text));
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].find("perhaps in another precision") != std::string::npos);
  }
  CHECK(planner::remarks_on({old}, job, strategy_of(job, "tp=16,recompute=full")).empty());
  // Recorded again it is the same case.
  const Observation again =
      memory_full(job, strategy_of(job, "tp=16,recompute=CoreAttention,precision=fp32"));
  CHECK(planner::same_case(old, again));
  CHECK(planner::same_case(again, old));
  CHECK_FALSE(planner::same_case(memory_full(job, strategy_of(job, "tp=16,recompute=CoreAttention")), again));
}
