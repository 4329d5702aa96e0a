#include "cli/text/check_text.h"

#include "cli/text/wrap.h"
#include "tests/catch.h"

using namespace trnplan;
using targets::Finding;
using targets::Severity;

namespace {

std::vector<Finding> findings() {
  return {
      {"heads",
       Severity::error,
       "model.num_heads",
       {"a.yaml", 3, 5},
       "30 heads over TP 8",
       "use tp=6",
       "source A"},
      {"batch", Severity::warning, "data.global_batch_size", {"a.yaml", 9, 1}, "odd", "use 64", "source B"},
      {"resume", Severity::note, "", {}, "starts anew", "", "source C"},
      {"instance", Severity::note, "", {}, "no type has 8 cores", "", ""}};
}

planner::Plan prediction() {
  planner::Plan p;
  p.strategy.tensor_parallel = 8;
  p.strategy.data_parallel = 4;
  p.instance = "trn1.32xlarge";
  p.report.step = Seconds(162.6);
  p.report.low = Seconds(122.2);
  p.report.high = Seconds(216.5);
  p.report.tokens_per_second = 51577;
  p.memory.stages.resize(1);
  p.memory.stages[0].activations = Bytes(5.13 * 1024 * 1024 * 1024);
  p.memory.limit = Bytes(16.0 * 1024 * 1024 * 1024);
  p.memory.fit_probability = 0.9999;
  return p;
}

}  // namespace

TEST_CASE("check starts with the verdict and what is wrong", "[cli]") {
  const planner::Plan plan = prediction();
  CHECK(
      cli::wrapped(cli::check_text("refused", findings(), &plan, "", false, 100), 100) ==
      "verdict: refused (1 error, 1 warning, 2 notes)\n"
      "a.yaml:3:5: error: heads: model.num_heads: 30 heads over TP 8\n"
      "  fix: use tp=6\n"
      "a.yaml:9:1: warning: batch: data.global_batch_size: odd\n"
      "  fix: use 64\n"
      "Predicted  162.6 s a step (90 %: 122.2 to 216.5)   51,577 tokens/s   5.1 of 16 GiB (fits: > 99.9 %)\n"
      "           TP 8 x DP 4, no sequence parallel, nothing recomputed, on 1 x trn1.32xlarge\n");
}

TEST_CASE("notes and sources are details, but not why there is no prediction", "[cli]") {
  const std::string brief = cli::check_text("ok", findings(), nullptr, "", false, 100);
  CHECK(brief.find("no type has 8 cores") != std::string::npos);
  CHECK(brief.find("starts anew") == std::string::npos);
  CHECK(brief.find("source") == std::string::npos);
  const std::string whole = cli::check_text("ok", findings(), nullptr, "", true, 100);
  for (const char* part : {"starts anew", "source: source A", "source: source C"})
    CHECK(whole.find(part) != std::string::npos);
}

TEST_CASE("why there is no prediction stands where it would", "[cli]") {
  const std::string why = "global batch 1024 does not divide by micro-batch 3 x DP 4 (batch)";
  for (const bool details : {false, true}) {
    const std::string text = cli::check_text("warn", {}, nullptr, why, details, 100);
    CHECK(text.find("\nNo prediction: " + why + "\n") != std::string::npos);
  }
}

TEST_CASE("check ends with what to do next", "[cli]") {
  const planner::Plan plan = prediction();
  CHECK(cli::check_next(findings(), &plan, false, "") ==
        "Next       --details shows the notes, sources, time and memory; --format json\n");
  CHECK(cli::check_next({}, nullptr, false, "") == "Next       --details shows sources; --format json\n");
  CHECK(cli::check_next(findings(), nullptr, false, "") ==
        "Next       --details shows the notes and sources; --format json\n");
  CHECK(cli::check_next({}, &plan, true, "trnplan plan a.yaml looks for a faster strategy") ==
        "Next       trnplan plan a.yaml looks for a faster strategy; --format json\n");
}
