// The search against brute force over its space, for jobs of every kind of machine.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/framework/framework.h"
#include "models/step/step_bound.h"
#include "planner/check/judge.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/search/candidates.h"
#include "planner/search/explain.h"
#include "planner/search/search.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"
#include "units/index.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

/// Simulates everything legal that fits, with the same choice of cuts, best first.
std::vector<std::pair<double, models::Strategy>> brute_force(const models::Job& job,
                                                             const models::Profile& profile) {
  const topology::ChipGraph graph(job.cluster.instance);
  const double wanted = SearchOptions{}.fit_probability;
  Candidates candidates(job, profile, false, wanted, 1);
  models::ComputeBounds bounds(job, profile);
  std::vector<std::pair<double, models::Strategy>> all;
  for (Candidate& c : candidates.all) {
    const bool sound = rule_violations(job, c.strategy).empty() &&
                       placement_verdict(job, c.strategy, graph).overall == topology::Verdict::supported;
    const auto fits_as_asked = [&] {
      const models::Memory memory = models::memory_of(job, c.strategy, profile);
      return memory.worst().peak() <= memory.limit && memory.fit_probability >= wanted;
    };
    const bool fits = sound && fits_as_asked();
    CHECK((c.feasibility == Feasibility::refused || c.feasibility == Feasibility::doubtful) == !sound);
    if (fits) CHECK(c.feasibility == Feasibility::legal);  // else other cuts may make it fit
    if (c.feasibility != Feasibility::legal) continue;
    const Seconds any = c.bound;
    candidates.refine(c);
    CHECK(any <= c.bound);
    CHECK(fits_as_asked());
    const Seconds step = make_plan(job, c.strategy, profile, graph).report.step;
    CAPTURE(models::describe(c.strategy));
    CHECK(c.bound.value <= step.value);
    const models::Job with_batch = candidates.job_of(c.strategy);
    CHECK(bounds.mean_stage(c.strategy, models::micro_batches(with_batch.training, c.strategy)) <= c.bound);
    all.emplace_back(step.value, c.strategy);
  }
  std::sort(all.begin(), all.end());
  return all;
}

void check_against_brute_force(const models::Job& job, const models::Profile& profile = datasheet()) {
  const auto brute = brute_force(job, profile);
  const SearchResult result = search(job, profile, {.top = 4});
  REQUIRE(result.plans.size() == std::min<std::size_t>(4, brute.size()));
  for (std::size_t i = 0; i < result.plans.size(); ++i) {
    CHECK(result.plans[i].report.step.value == brute[i].first);
    CHECK(result.plans[i].strategy == brute[i].second);
  }
  const SpaceCounts& c = result.counts;
  CHECK(c.enumerated == c.refused + c.too_large + c.bounded + c.simulated);
  CHECK(result.counts.bounded + result.counts.simulated == static_cast<int>(brute.size()));
  if (brute.empty()) return;
  // What the fastest plan reaches is never ruled out, and nothing is lost where it is asked for.
  const double most = result.plans.front().report.tokens_per_second;
  const SearchResult asked = search(job, profile, {.top = 1, .least_tokens_per_second = most});
  REQUIRE(asked.plans.size() == 1);
  CHECK(asked.plans.front().strategy == brute.front().second);
  CHECK(search(job, profile, {.least_tokens_per_second = 1e3 * most}).plans.empty());
}

}  // namespace

// Best bound first against simulating everything legal that fits, for each objective's bound: with one
// cluster and one batch they order alike.
TEST_CASE("the ranking equals brute force", "[once][planner]") {
  struct Case {
    const char* model;
    int nodes, sequence, batch;
  };
  const auto c = GENERATE(
      values<Case>({{"llama3-8b", 1, 8192, 32}, {"llama3-8b", 2, 2048, 6}, {"llama3-8b", 3, 8192, 48}}));
  CAPTURE(c.model, c.nodes);
  check_against_brute_force(job_of(c.model, c.nodes, c.sequence, c.batch));
}

TEST_CASE("the ranking equals brute force on random small jobs", "[planner]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 50)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  models::Job job = job_of("llama3-8b", pick({1, 1, 1, 2}), pick({1024, 2048, 4096}), pick({4, 6, 8, 16}));
  job.architecture.layers = pick({2, 3, 4, 5, 6});
  job.architecture.hidden = pick({2048, 4096, 8192});
  job.architecture.head_dim = job.architecture.hidden / job.architecture.heads;
  job.architecture.vocabulary = pick({32000, 128256});
  job.architecture.flash_attention = job.training.sequence >= 2048 && pick({0, 1, 1}) == 1;
  job.cluster.instance.core.memory = gibibytes(pick({4, 6, 8, 16}));
  if (pick({0, 1, 2}) > 0) job.pin.sequence_parallel = true;  // the whole space of every third job is enough
  if (pick({0, 1}) > 0) job.pin.context_parallel = 1;
  if (pick({0, 1, 2}) == 0) {
    job.architecture.sliding_window = pick({128, 1024});
    job.architecture.sliding_window_pattern = pick({0, 2, 3});
  }
  CAPTURE(seed, job.cluster.nodes, job.architecture.layers);
  check_against_brute_force(job);
}

TEST_CASE("the ranking equals brute force on machines of GPUs", "[planner]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 12)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  models::Job job = job_of("llama3-8b", pick({1, 2}), 2048, pick({8, 16}));
  job.cluster.instance = gpu_machine();
  job.cluster.instance.traits.step_time = true;
  job.cluster.instance.core.memory = gibibytes(pick({8, 16, 80}));
  job.architecture.layers = pick({2, 4, 6});
  job.pin.sequence_parallel = true;
  job.pin.context_parallel = 1;
  models::Profile profile = gpu_profile();
  profile.value(models::gpu::host_layer) = {pick({1, 20}) * 1e-4, 0.1, "made up"};
  profile.value(models::switched::ring_wait) = {4e-5, 0.1, "made up"};
  CAPTURE(seed, job.cluster.nodes, job.architecture.layers);
  check_against_brute_force(job, profile);
}

// Catches a bound or a cost that forgets the factor of a layout that was measured.
TEST_CASE("the ranking equals brute force where layouts were measured", "[once][planner]") {
  models::Job job = job_of("llama3-8b", 1, 4096, 16);
  job.architecture.layers = 4;
  job.software = {"nxdt", "2.23"};
  const SearchResult before = search(job, datasheet(), {.top = 8});
  REQUIRE(before.plans.size() == 8);
  auto calibration = std::make_shared<models::Calibration>();
  for (const int i : {0, 3, 6}) {  // the best one gets slower, others better than it was
    calibration->stacks.push_back({"nxdt", "", i == 0 ? 1.4 : 0.5, 0, job.cluster.instance.name,
                                   models::layout_name(job, before.plans[at(i)].strategy)});
  }
  models::Profile profile = datasheet();
  const std::size_t rows = profile.schema->places() + calibration->stacks.size();
  calibration->covariance.assign(rows, std::vector<double>(rows, 0));
  profile.calibration = calibration;
  check_against_brute_force(job, profile);
  CHECK_FALSE(search(job, profile, {.top = 1}).plans.front().strategy == before.plans.front().strategy);
}

// What is sharded, and over how many ranks, is searched where the framework offers it.
TEST_CASE("the ranking equals brute force with sharding searched", "[once][planner]") {
  struct Case {
    const char* framework;
    int nodes, sequence, batch;
  };
  const auto c =
      GENERATE(values<Case>({{"fsdp", 1, 2048, 32}, {"fsdp1", 1, 4096, 64}, {"fsdp", 2, 8192, 32}}));
  CAPTURE(c.framework, c.nodes);
  models::Job job = job_of("llama3-8b", c.nodes, c.sequence, c.batch);
  job.architecture.layers = 4;
  job.pin.framework = models::stated_framework(c.framework);
  job.pin.tensor_parallel = 8;
  check_against_brute_force(job);
  job.pin.shard_degree = 2;
  for (const Plan& plan : search(job, datasheet(), {.top = 4}).plans) {
    if (plan.strategy.zero1) CHECK(models::shard_degree(plan.strategy) == 2);
  }
}

// Catches: cached times of one cut of experts that another gets.
TEST_CASE("the ranking equals brute force with whole experts", "[once][planner]") {
  models::Job job = job_of("mixtral-8x7b", 1, 4096, 16);
  job.cluster.instance = gpu_machine();
  job.cluster.instance.traits.step_time = true;
  job.architecture.layers = 2;
  job.architecture.experts = 4;
  job.pin.framework =
      models::stated_framework(GENERATE("megatron", "megatron-bridge", "megatron-ep-overlap"));
  job.pin.context_parallel = 1;
  check_against_brute_force(job, gpu_profile());
}

// Without ZeRO-1 whole experts and those that TP cuts have as many shards, one, but not as many weights: some memories
// hold one kind alone.
// Catches: weights of one kind that are remembered for the other.
TEST_CASE("the ranking equals brute force with whole experts and without ZeRO-1", "[once][planner]") {
  models::Job job = job_of("mixtral-8x7b", 1, 4096, 16);
  job.cluster.instance = gpu_machine();
  job.cluster.instance.traits.step_time = true;
  job.cluster.instance.core.memory = gibibytes(GENERATE(20.0, 30.0, 40.0));
  job.architecture.layers = 4;
  job.pin.framework = models::stated_framework("megatron");
  job.pin.zero1 = false;
  job.pin.context_parallel = job.pin.pipeline_parallel = 1;
  check_against_brute_force(job, gpu_profile());
}

// TorchTitan's: all, every second layer, all except attention and every second product, nothing; the second
// if a stage has an even number of layers, the third with flash attention. Memory decides which of them are
// plans.
TEST_CASE("the ranking equals brute force with TorchTitan's activation checkpointing", "[once][planner]") {
  const double gib = GENERATE(4.0, 6.0, 8.0, 16.0, 80.0);
  const char* const framework = GENERATE("fsdp", "fsdp-async-tp", "fsdp1");
  models::Job job = job_of("llama3-8b", 1, 4096, 16);
  job.cluster.instance = gpu_machine();
  job.cluster.instance.traits.step_time = true;
  job.cluster.instance.core.memory = gibibytes(gib);
  job.architecture.layers = 6;
  job.pin.framework = models::stated_framework(framework);
  job.pin.sequence_parallel = true;
  job.pin.context_parallel = 1;
  job.pin.shard_degree = 0;
  CAPTURE(gib, framework);
  check_against_brute_force(job, gpu_profile());
  std::map<std::string, int> flash, plain;
  for (const models::Strategy& s : enumerate(job)) {
    ++(s.flash_attention ? flash : plain)[to_string(s.recompute)];
    if (s.recompute.every > 1) CHECK(6 / s.pipeline_parallel % s.recompute.every == 0);
  }
  const bool titan = std::string_view(framework) != "fsdp1";
  CHECK(flash.size() == (titan ? 4 : 2));
  CHECK(plain.size() == (titan ? 3 : 2));
  if (titan) {
    CHECK(flash["SelectiveOp"] == flash["full"]);
    CHECK(flash["full/2"] < flash["full"]);  // not of two stages of 3
  }
}

// With less and less memory more and more is recomputed; SelectiveOp keeps less than every second layer and takes less
// time.
TEST_CASE("memory decides what TorchTitan recomputes", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 8192, 8);
  job.cluster.instance = gpu_machine();
  job.cluster.instance.traits.step_time = true;
  job.pin.framework = models::stated_framework("fsdp");
  job.pin.tensor_parallel = job.pin.context_parallel = job.pin.pipeline_parallel = 1;
  job.pin.shard_degree = 0;
  std::vector<std::string> best;
  for (double gib = 90; gib > 10; gib -= 1) {
    job.cluster.instance.core.memory = gibibytes(gib);
    const SearchResult result = search(job, gpu_profile(), {.top = 1});
    if (result.plans.empty()) break;
    const std::string policy = to_string(result.plans.front().strategy.recompute);
    if (best.empty() || best.back() != policy) best.push_back(policy);
  }
  CHECK(best == std::vector<std::string>{"CoreAttention", "SelectiveOp", "full"});
}

TEST_CASE("the ranking equals brute force on trn2", "[once][planner]") {
  const char* const kind = GENERATE("trn2.3xlarge", "trn2.48xlarge", "trn2.48xlarge-lnc1");
  const char* const framework = GENERATE("nxd", "fsdp");
  models::Job job = job_of("llama3-8b", 1, 2048, 128);
  job.cluster.instance = test_catalog().instance(kind);
  job.architecture.layers = 4;
  job.pin.framework = models::stated_framework(framework);
  job.pin.sequence_parallel = true;
  job.pin.context_parallel = 1;
  CAPTURE(kind, framework);
  check_against_brute_force(job, test_catalog().profile("trn2"));
}

TEST_CASE("the best of each layout", "[once][planner]") {
  models::Job job = job_of("llama3-8b", 2, 2048, 16);
  job.architecture.layers = 6;
  const auto brute = brute_force(job, datasheet());
  std::vector<models::Strategy> firsts;
  for (const auto& [step, s] : brute) {
    const bool seen = std::any_of(firsts.begin(), firsts.end(),
                                  [&, &strategy = s](const auto& f) { return same_layout(f, strategy); });
    if (!seen) firsts.push_back(s);
  }
  REQUIRE(firsts.size() > 4);
  const SearchResult result = search(job, datasheet());
  REQUIRE(result.layouts.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(result.layouts[i].strategy == firsts[i]);
}
