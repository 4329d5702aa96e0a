#include "planner/check/check_plan.h"

#include <cmath>
#include <functional>

#include "models/memory/fit_probability.h"
#include "planner/check/judge.h"
#include "planner/check/rules.h"
#include "planner/search/search.h"
#include "planner/search/stated_plan.h"
#include "tests/catch.h"
#include "tests/property/sample.h"
#include "tests/seeds.h"

namespace trnplan {

using planner::check_plan;
using planner::StatedPlan;

namespace {

std::string all_of(const std::vector<std::string>& wrong) {
  std::string text;
  for (const std::string& w : wrong) text += w + "; ";
  return text;
}

/// The sample with a batch that it divides and nothing pinned, so that only the strategy is judged.
models::Job free_job(const Sample& sample) {
  models::Job job = sample.job;
  job.pin = {};
  job.pin.zero1 = sample.strategy.zero1;
  return job;
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
  return planner::stated_plan(*judged.plan);
}

}  // namespace

TEST_CASE("the second opinion agrees with every plan of random searches") {
  const models::Profile profile = datasheet();
  int plans = 0;
  for (const unsigned seed : seeds(1, 36)) {
    const models::Job job = random_sample(seed).job;
    for (const bool doubtful : {false, true}) {
      planner::SearchOptions options{.top = 8, .allow_doubtful = doubtful, .threads = 1};
      const planner::SearchResult result = planner::search(job, profile, options);
      for (const auto* list : {&result.plans, &result.layouts}) {
        for (const planner::Plan& plan : *list) {
          INFO("seed " << seed << ", " << describe(plan.strategy));
          CHECK(all_of(check_plan(job, planner::stated_plan(plan), profile, {.allow_doubtful = doubtful})) ==
                "");
          ++plans;
        }
      }
    }
  }
  CHECK(plans > 200);
}

TEST_CASE("the second opinion agrees with plans on trn2, of NxD and of FSDP") {
  const models::Profile profile = test_catalog().profile("trn2");
  int plans = 0;
  for (const char* kind : {"trn2.3xlarge", "trn2.48xlarge", "trn2.48xlarge-lnc1"}) {
    for (const char* framework : {"nxd", "fsdp"}) {
      models::Job job = job_of("llama3-8b", 2, 4096, 256);
      job.cluster.instance = test_catalog().instance(kind);
      job.pin.framework = models::stated_framework(framework);
      const planner::SearchResult result = planner::search(job, profile, {.top = 4, .threads = 1});
      for (const planner::Plan& plan : result.plans) {
        INFO(kind << ", " << framework << ", " << describe(plan.strategy));
        CHECK(all_of(check_plan(job, planner::stated_plan(plan), profile)) == "");
        ++plans;
      }
    }
  }
  CHECK(plans >= 16);
}

TEST_CASE("the second opinion on memory is the model's, legal or not, fitting or not") {
  const models::Profile profile = datasheet();
  for (const unsigned seed : seeds(100, 300)) {
    Sample sample = random_sample(seed);
    if (seed % 5 == 0) sample.strategy.precision = models::Precision::fp32;
    const models::Memory memory = models::memory_of(sample.job, sample.strategy, profile);
    const std::vector<planner::StageBytes> stages = planner::memory_by_formula(sample.job, sample.strategy);
    REQUIRE(stages.size() == memory.stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) {
      INFO("seed " << seed << ", " << describe(sample.strategy) << ", stage " << i);
      const models::StageMemory& m = memory.stages[i];
      CHECK(stages[i].peak() == Approx((m.peak() - m.runtime).value).epsilon(1e-9));
      const double p = models::probability_of_fitting(m, memory.limit, profile);
      CHECK(planner::fit_by_integration(stages[i], sample.strategy.pipeline_parallel == 1, memory.limit,
                                        profile) == Approx(p).margin(0.02));
    }
  }
}

TEST_CASE("the second opinion on memory is the model's for every architecture of the catalogue") {
  const models::Profile profile = datasheet();
  for (const std::string& name : test_catalog().models()) {
    models::Job job = job_of(name, 4, 2048, 256);
    for (const int pipeline : {1, 4}) {
      for (const bool zero1 : {true, false}) {
        models::Strategy s;
        s.tensor_parallel = 4;
        s.pipeline_parallel = pipeline;
        s.data_parallel = 32 / pipeline;
        s.expert_parallel = job.architecture.experts > 0 ? 4 : 1;
        s.sequence_parallel = zero1;
        s.flash_attention = job.architecture.flash_attention;
        s.zero1 = zero1;
        s.recompute = {.mlp = !zero1, .rms_norm = zero1};
        const models::Memory memory = models::memory_of(job, s, profile);
        const auto stages = planner::memory_by_formula(job, s);
        for (std::size_t i = 0; i < stages.size(); ++i) {
          INFO(name << ", " << describe(s) << ", stage " << i);
          const models::StageMemory& m = memory.stages[i];
          CHECK(stages[i].peak() == Approx((m.peak() - m.runtime).value).epsilon(1e-9));
        }
      }
    }
  }
}

TEST_CASE("the second opinion on memory by hand: Llama-3 8B, TP 32, DP 1") {
  // Per layer and core: QKV (4096 / 32 + 2 * 1024 * 4 / 32) * 4096 = 1,572,864; O 128 * 4096 = 524,288;
  // gate and up 896 * 4096 = 3,670,016; down 4096 * 448 = 1,835,008; norms 8,192: 7,610,368. 32 layers and
  // twice 4008 * 4096 for embedding and head, 4,096 for the last norm: N = 276,369,408. One rank shares
  // nothing, so 18 N of states. Logits: 14 * 8192 * 4008 = 459,669,504 while the loss is computed, more than
  // 6 * 8192 * 4008 + 2 * 2 * 8192 * 4096. A layer keeps (26 * 4096 + 8 * 14336) * 256 = 56,623,104.
  models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  models::Strategy s;
  s.tensor_parallel = 32;
  s.sequence_parallel = true;
  s.kv_replicator = 4;
  const std::vector<planner::StageBytes> stages = planner::memory_by_formula(job, s);
  REQUIRE(stages.size() == 1);
  CHECK(stages[0].states == Approx(18.0 * 276369408).epsilon(1e-12));
  CHECK(stages[0].instants[0].activations == Approx(32 * 56623104.0).epsilon(1e-12));
  CHECK(stages[0].instants[0].passing == Approx(459669504.0).epsilon(1e-12));
  CHECK(stages[0].peak() == Approx(18.0 * 276369408 + 32 * 56623104.0 + 459669504.0).epsilon(1e-12));
}

TEST_CASE("the second opinion on replica groups is the topology's") {
  int kinds[3] = {0, 0, 0};
  for (const unsigned seed : seeds(1, 250)) {
    const Sample sample = random_sample(seed);
    const topology::ChipGraph graph(sample.job.cluster.instance);
    const topology::Verdict verdict = planner::placement_verdict(sample.job, sample.strategy, graph).overall;
    const planner::GroupsOpinion opinion =
        planner::groups_by_backtracking(sample.job.cluster, sample.strategy);
    INFO("seed " << seed << ", " << describe(sample.strategy) << ": " << opinion.why);
    CHECK(static_cast<int>(opinion.worst) == static_cast<int>(verdict));
    CHECK(opinion.why.empty() == (opinion.worst == planner::GroupOpinion::fine));
    ++kinds[static_cast<int>(verdict)];
  }
  for (const int k : kinds) CHECK(k > 10);  // all three were seen
}

TEST_CASE("what the tutorial ran: TP 16 x DP 2 is refused, TP 32 and TP 8 are not") {
  const topology::Cluster cluster = job_of("llama3-8b", 1, 8192, 1024).cluster;
  models::Strategy s;
  const auto worst = [&](int tensor) {
    s.tensor_parallel = tensor;
    s.data_parallel = 32 / tensor;
    return planner::groups_by_backtracking(cluster, s).worst;
  };
  CHECK(worst(16) == planner::GroupOpinion::refused);
  CHECK(worst(32) == planner::GroupOpinion::fine);
  CHECK(worst(8) == planner::GroupOpinion::fine);
  CHECK(worst(2) == planner::GroupOpinion::doubtful);
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
      {"micro-batch", [](StatedPlan& c) { c.strategy.micro_batch = 3; }, "does not divide global batch"},
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

TEST_CASE("random corruptions of degrees, cuts and batch are found out exactly when the rules break") {
  const models::Profile profile = datasheet();
  int broken = 0, whole = 0;
  for (const unsigned seed : seeds(1, 300)) {
    Sample sample = random_sample(seed);
    models::Strategy& s = sample.strategy;
    switch (seed % 8) {
      case 0:
        s.tensor_parallel *= 2;
        break;
      case 1:
        s.pipeline_parallel = std::max(1, s.pipeline_parallel - 1);
        break;
      case 2:
        s.micro_batch += 1;
        break;
      case 3:
        s.pipeline_cuts.assign(static_cast<std::size_t>(s.pipeline_parallel * s.virtual_pipeline - 1), 1);
        break;
      case 4:
        s.virtual_pipeline += 1;
        break;
      case 5:
        s.kv_replicator *= 2;
        break;
      case 6:
        s.sequence_parallel = !s.sequence_parallel;
        break;
      default:
        break;
    }
    const models::Job job = free_job(sample);
    const bool numbers = planner::rule_violations(job, s).empty();
    StatedPlan stated;
    stated.strategy = s;
    stated.nodes = job.cluster.nodes;
    stated.instance = job.cluster.instance.name;
    stated.global_batch = job.training.global_batch;
    stated.micro_batches = models::micro_batches(job.training, s);
    bool refused = !numbers;
    if (numbers) {
      const models::Memory memory = models::memory_of(job, s, profile);
      if (std::abs(memory.fit_probability - 0.9) < 0.03) continue;  // there two opinions may differ
      for (const auto& m : memory.stages) stated.peaks.push_back(m.peak());
      const topology::ChipGraph graph(job.cluster.instance);
      refused = memory.fit_probability < 0.9 ||
                planner::placement_verdict(job, s, graph).overall != topology::Verdict::supported;
    }
    INFO("seed " << seed << ", " << describe(s) << ": " << all_of(check_plan(job, stated, profile)));
    CHECK(check_plan(job, stated, profile).empty() == !refused);
    ++(refused ? broken : whole);
  }
  CHECK(broken > 50);
  CHECK(whole > 20);
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
