#include <functional>
#include <set>

#include "planner/check/invariants.h"
#include "planner/check/judge.h"
#include "planner/search/search.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/second_opinion/check_plan.h"
#include "tests/second_opinion/random_jobs.h"
#include "tests/second_opinion/stated_plan.h"
#include "tests/seeds.h"

namespace trnplan {

using second_opinion::check_plan;
using second_opinion::StatedPlan;

namespace {

std::string all_of(const std::vector<second_opinion::Fault>& wrong) {
  std::string text;
  for (const second_opinion::Fault& w : wrong) text += w.rule + ": " + w.what + "; ";
  return text;
}

StatedPlan llama3_8b_tp8(const models::Job& job, const models::Profile& profile) {
  models::Strategy s;
  s.tensor_parallel = 8;
  s.data_parallel = 4;
  s.sequence_parallel = true;
  s.recompute = {.core_attention = true, .mlp = true};
  const planner::Judgement judged = planner::judge(job, s, profile);
  REQUIRE(judged.plan);
  REQUIRE_FALSE(judged.refused());
  return second_opinion::stated_plan(*judged.plan);
}

}  // namespace

TEST_CASE("the second opinion agrees with every plan of random searches on every machine") {
  int plans = 0;
  std::set<std::string> machines;
  for (const unsigned seed : seeds(1, 100)) {
    const RandomJob random = random_job(seed);
    const bool doubtful = seed % 2 == 0;
    const planner::SearchResult result = planner::search(random.job, random.profile,
                                                         {.top = 6,
                                                          .allow_doubtful = doubtful,
                                                          .explain = false,
                                                          .why_nothing = false,
                                                          .target = random.target,
                                                          .threads = 1});
    for (const auto* list : {&result.plans, &result.layouts}) {
      for (const planner::Plan& plan : *list) {
        INFO("seed " << seed << ", " << plan.instance << ", " << describe(plan.strategy));
        const std::string target(random.target == nullptr ? "" : random.target->name());
        CHECK(all_of(check_plan(random.job, second_opinion::stated_plan(plan), random.profile,
                                {.allow_doubtful = doubtful, .target = target})) == "");
        CHECK(planner::broken_invariants(random.job, plan, 0.9) == std::vector<std::string>{});
        machines.insert(plan.instance);
        ++plans;
      }
    }
  }
  CHECK(plans > at_least(100));
  CHECK((kSanitised ||
         machines.size() >= timed_machines().size() * 3 / 4));  // of the others every plan was refused
}

TEST_CASE("a corrupted plan is found out") {
  const models::Profile profile = datasheet();
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const StatedPlan good = llama3_8b_tp8(job, profile);
  REQUIRE(all_of(check_plan(job, good, profile)) == "");

  struct Corruption {
    const char* what;
    std::function<void(StatedPlan&)> apply;
    const char* found;
  };
  const Corruption all[] = {
      {"TP", [](StatedPlan& c) { c.strategy.tensor_parallel = 16; }, "multiply"},
      {"TP and DP",
       [](StatedPlan& c) {
         c.strategy.tensor_parallel = 16, c.strategy.data_parallel = 2, c.micro_batches = 512,
         c.strategy.kv_replicator = 2;
       },
       "refused: DP"},
      {"zero", [](StatedPlan& c) { c.strategy.data_parallel = 0; }, "below 1"},
      {"odd PP", [](StatedPlan& c) { c.strategy.pipeline_parallel = 3; }, "multiply"},
      {"cuts", [](StatedPlan& c) { c.strategy.pipeline_cuts = {5}; }, "cuts"},
      {"batch", [](StatedPlan& c) { c.global_batch = 1000; }, "global batch 1000"},
      {"micro-batches", [](StatedPlan& c) { c.micro_batches = 255; }, "255 micro-batches"},
      {"micro-batch", [](StatedPlan& c) { c.strategy.micro_batch = 3; }, "do not make 1024"},
      {"recompute", [](StatedPlan& c) { c.strategy.recompute = {}; }, "does not fit"},
      {"memory", [](StatedPlan& c) { c.peaks[0] = c.peaks[0] * 0.99; }, "bytes a core are claimed"},
      {"stages", [](StatedPlan& c) { c.peaks.clear(); }, "stages is claimed"},
      {"replicator", [](StatedPlan& c) { c.strategy.kv_replicator = 3; }, "3 does not divide TP 8"},
      {"ZeRO-1", [](StatedPlan& c) { c.strategy.zero1 = false; }, "ZeRO-1"},
      {"precision", [](StatedPlan& c) { c.strategy.precision = models::Precision::bf16_sr; }, "precision"},
      {"nodes", [](StatedPlan& c) { c.nodes = 2; }, "2 nodes"},
      {"instance", [](StatedPlan& c) { c.instance = "trn1n.32xlarge"; }, "trn1n.32xlarge"}};
  for (const Corruption& corruption : all) {
    StatedPlan bad = good;
    corruption.apply(bad);
    const std::string wrong = all_of(check_plan(job, bad, profile));
    INFO(corruption.what << ": " << wrong);
    CHECK(wrong.find(corruption.found) != std::string::npos);
  }
}

TEST_CASE("pins, deadline and budget are checked too") {
  const models::Profile profile = datasheet();
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  job.training.tokens = 1e9;
  const StatedPlan good = llama3_8b_tp8(job, profile);
  job.pin.tensor_parallel = 8;
  job.pin.recompute = models::Recompute{.mlp = true};  // with flash attention the same program
  CHECK(all_of(check_plan(job, good, profile)) == "");
  job.pin.recompute = models::Recompute{};
  CHECK(all_of(check_plan(job, good, profile)).find("recompute") != std::string::npos);
  job.pin = {};
  job.pin.micro_batch = 2;
  CHECK(all_of(check_plan(job, good, profile)).find("micro-batch") != std::string::npos);
  job.pin = {};
  // 1e9 tokens are 1e9 / (1024 * 8192) = 119.2 steps, at a step of some 450 s some 15 hours and 320 USD.
  job.deadline = Seconds(3600);
  CHECK(all_of(check_plan(job, good, profile)).find("deadline") != std::string::npos);
  job.deadline = Seconds(86400);
  job.budget = 100;
  CHECK(all_of(check_plan(job, good, profile)).find("budget") != std::string::npos);
  job.budget = 1000;
  CHECK(all_of(check_plan(job, good, profile)) == "");
}

}  // namespace trnplan
