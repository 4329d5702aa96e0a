#include "models/step/step_bound.h"

#include <algorithm>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/collective/switched_parameters.h"
#include "models/memory/memory.h"
#include "models/step/step.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/layers.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

std::vector<int> cuts_of(const std::vector<int>& layers) {
  std::vector<int> cuts;
  int last = -1;
  for (std::size_t i = 0; i + 1 < layers.size(); ++i) cuts.push_back(last += layers[i]);
  return cuts;
}

}  // namespace

// Where the engine has nothing to share out, 1F1B followed message by message takes what it takes.
TEST_CASE("the pipeline's time is the simulated one without contention", "[models]") {
  const Profile profile = datasheet();
  for (const char* text :
       {"tp=8,pp=4", "tp=8,pp=2,cuts=7", "tp=8,pp=4,cuts=2/11/20", "tp=8,pp=4,recompute=full,mbs=2",
        "tp=8,pp=4,cuts=15/16/17", "tp=32,pp=4", "tp=32,pp=2,cuts=25"}) {
    for (const int batch : {8, 16, 64, 512}) {
      const Job job = job_of("llama3-8b", text[3] == '3' ? 4 : 1, 8192, batch);
      const Strategy s = strategy_of(job, text);
      const topology::ChipGraph graph(job.cluster.instance);
      StepBounds bounds(job, profile, graph);
      CAPTURE(text, batch);
      const double mine = to_seconds(bounds.without_contention(s, micro_batches(job.training, s))).value;
      const double simulated = simulate_step(job, s, profile).step.value;
      CHECK(mine <= simulated);
      CHECK(mine == Approx(simulated).epsilon(1e-8));
    }
  }
}

// Two methods for the same number: StepModel's sum task by task, and the caches of a search. They differ by a
// tick per item, which the engine rounds up.
TEST_CASE("the bounds of a search are those of the step model", "[models]") {
  struct Case {
    const char* model;
    int nodes, sequence, batch, stride;
    int pattern = 0;  ///< of a window of 1024
  };
  const auto c = GENERATE(values<Case>({{"llama3-8b", 1, 8192, 64, 7},
                                        {"llama3-8b", 1, 8192, 64, 7, 2},
                                        {"llama3-70b", 4, 8192, 64, 37},
                                        {"gpt3-6.7b", 2, 2048, 64, 5},
                                        {"mixtral-8x7b", 4, 4096, 64, 9}}));
  Job job = job_of(c.model, c.nodes, c.sequence, c.batch);
  job.architecture.sliding_window = c.pattern > 0 ? 1024 : 0;
  job.architecture.sliding_window_pattern = c.pattern;
  const topology::ChipGraph graph(job.cluster.instance);
  const Profile profile = datasheet();
  StepBounds bounds(job, profile, graph);
  int compared = 0, skipped = 0;
  for (const Strategy& s : planner::enumerate(job)) {
    if (!planner::rule_violations(job, s).empty() || ++skipped % c.stride != 0) continue;
    CAPTURE(describe(s));
    const double mine = to_seconds(bounds.lower_bound(s, micro_batches(job.training, s))).value;
    const double theirs = StepModel(job, s, profile, graph).lower_bound().value;
    CHECK(mine <= theirs);
    CHECK(mine == Approx(theirs).epsilon(1e-8));
    ++compared;
  }
  CHECK(compared > 20);
}

// With TP 4 there are no replicas but of whole experts, on the ranks of TP.
// Catches: times of a pass that strategies of different cuts of experts share, or those with and without virtual
// stages, which alone let exchanges with experts overlap; steps that reduce no gradients of experts where all else has
// no replicas.
TEST_CASE("the bounds tell whole experts from those that TP cuts", "[models]") {
  Job job = job_of("mixtral-8x7b", 1, 4096, 16);
  job.cluster.instance = gpu_machine();
  job.cluster.instance.traits.step_time = true;
  job.pin.framework = models::stated_framework(GENERATE("megatron", "megatron-ep-overlap"));
  job.pin.tensor_parallel = GENERATE(2, 4);
  job.pin.pipeline_parallel = 2;
  const topology::ChipGraph graph(job.cluster.instance);
  const Profile profile = gpu_profile();
  StepBounds bounds(job, profile, graph);
  int whole = 0;
  for (const Strategy& s : planner::enumerate(job)) {
    if (!planner::rule_violations(job, s).empty() || !StepModel::not_modelled(job, s).empty()) continue;
    CAPTURE(describe(s));
    const double mine = to_seconds(bounds.lower_bound(s, micro_batches(job.training, s))).value;
    CHECK(mine == Approx(StepModel(job, s, profile, graph).lower_bound().value).epsilon(1e-8));
    whole += has_whole_experts(s) ? 1 : 0;
  }
  CHECK(whole > 20);
}

// Reductions and gathers that overlap passes: most of a step whose data-parallel network is slow is in the bound, also
// of interleaved stages, whose earlier chunks' reductions queue up. A bound above the simulated time would lose plans.
TEST_CASE("collectives that overlap passes count in the bounds", "[models]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 60)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  const int nodes = pick({2, 4}), tensor = pick({1, 2, 4, 8}), pipeline = pick({1, 2, 4});
  const int context = pick({1, 1, 2}), chunks = pipeline > 1 ? pick({1, 2, 4}) : 1;
  Job job = job_of("llama3-8b", nodes, 2048, 0);
  job.cluster.instance = gpu_machine();
  job.architecture.layers = 16;
  const int ranks = nodes * 8 / (tensor * pipeline * context);
  if (ranks < 1) return;
  job.training.global_batch = ranks * pipeline * pick({1, 2, 5, 8});
  Profile profile = gpu_profile();
  profile.value(switched::network_share).median /= pick({1, 4, 30});
  const Strategy s = strategy_of(
      job, "framework=megatron,mbs=1,tp=" + std::to_string(tensor) + ",pp=" + std::to_string(pipeline) +
               ",cp=" + std::to_string(context) + (chunks > 1 ? ",vpp=" + std::to_string(chunks) : "") +
               (pick({0, 1}) == 1 ? ",zero1=false" : ""));
  const topology::ChipGraph graph(job.cluster.instance);
  CAPTURE(seed, describe(s), nodes, job.training.global_batch);
  StepBounds bounds(job, profile, graph);
  const int m = micro_batches(job.training, s);
  const double mine = to_seconds(bounds.lower_bound(s, m)).value;
  const StepModel model(job, s, profile, graph);
  const double theirs = model.lower_bound().value, simulated = model.simulate().step.value;
  CHECK(mine <= theirs);
  CHECK(mine == Approx(theirs).epsilon(1e-8));
  CHECK(theirs <= simulated);
  CHECK(to_seconds(bounds.without_contention(s, m)).value <= simulated);
  // Interleaved messages occupy links alone, for which stages wait here and which no bound counts.
  CHECK(theirs > (chunks > 1 ? 0.3 : 0.6) * simulated);
}

TEST_CASE("the best cuts are the fastest of all cuts, simulated", "[models]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 40)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  Job job = job_of("llama3-8b", pick({1, 2}), pick({2048, 8192}), pick({4, 8, 16, 64}));
  job.architecture.layers = pick({5, 6, 8, 9});
  job.architecture.vocabulary = pick({32000, 128256, 256000});
  Strategy s = strategy_of(job, pick({0, 1}) == 1 ? "tp=8,pp=4" : "tp=8,pp=2");
  s.recompute.full = pick({0, 1}) == 1;
  s = canonical(s);
  const int m = micro_batches(job.training, s), stages = s.pipeline_parallel;
  if (m < 1) return;
  std::vector<int> most(static_cast<std::size_t>(stages), job.architecture.layers);
  most[0] = pick({2, 3, 9});  // room for fewer than it would take
  CAPTURE(seed, describe(s), m, most[0], job.architecture.layers);

  const Profile profile = datasheet();
  const topology::ChipGraph graph(job.cluster.instance);
  StepBounds bounds(job, profile, graph);
  const SimTime any = bounds.bound_of_any_cuts(s, m);
  Seconds fastest(1e9);
  for (const std::vector<int>& layers : compositions(job.architecture.layers, stages)) {
    s.pipeline_cuts = cuts_of(layers);
    CHECK(any <= bounds.lower_bound(s, m));
    if (layers[0] <= most[0]) fastest = std::min(fastest, simulate_step(job, s, profile).step);
  }
  s.pipeline_cuts.clear();
  const std::vector<int> best = bounds.best_layers(s, m, most);
  REQUIRE(best.size() == most.size());
  CHECK(best[0] <= most[0]);
  s.pipeline_cuts = cuts_of(best);
  CHECK(simulate_step(job, s, profile).step.value == fastest.value);
}

// A host that is about as fast as the device: a stage's passes grow by more with each layer. Catches the cost of a
// layer taken where the head hides nothing of it.
TEST_CASE("no cuts beat the bound of any cuts with a slow host", "[models]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 40)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<double> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  Job job = job_of("llama3-8b", 1, 2048, static_cast<int>(pick({4, 8, 32})));
  job.cluster.instance = gpu_machine();
  job.architecture.layers = static_cast<int>(pick({5, 7, 9}));
  job.architecture.vocabulary = static_cast<int>(pick({32000, 256000}));
  Profile profile = gpu_profile();
  profile.value(gpu::host_layer).median = pick({1e-4, 5e-4, 1e-3, 2e-3, 1e-2});
  Strategy s = strategy_of(job, pick({0, 1}) == 1 ? "tp=2,pp=4" : "tp=4,pp=2");
  s.framework = stated_framework(pick({0, 1}) == 1 ? "megatron" : "nanotron");
  s.micro_batch = 1;
  const int m = micro_batches(job.training, s);
  CAPTURE(seed, describe(s), m, profile[gpu::host_layer]);
  const topology::ChipGraph graph(job.cluster.instance);
  StepBounds bounds(job, profile, graph);
  const SimTime any = bounds.bound_of_any_cuts(s, m);
  for (const std::vector<int>& layers : compositions(job.architecture.layers, s.pipeline_parallel)) {
    s.pipeline_cuts = cuts_of(layers);
    const SimTime bound = bounds.lower_bound(s, m);
    CHECK(any <= bound);
    CHECK(to_seconds(bound).value <= StepModel(job, s, profile, graph).simulate().step.value);
  }
}

TEST_CASE("cuts that have no room", "[models]") {
  const Job job = job_of("llama3-8b", 1, 8192, 64);
  const Profile profile = datasheet();
  const topology::ChipGraph graph(job.cluster.instance);
  StepBounds bounds(job, profile, graph);
  const Strategy s = strategy_of(job, "tp=8,pp=4");
  CHECK(bounds.best_layers(s, 64, {7, 7, 7, 7}).empty());
  CHECK(bounds.best_layers(s, 64, {0, 32, 32, 32}).empty());
  CHECK(bounds.best_layers(s, 64, {8, 8, 8, 8}) == std::vector<int>{8, 8, 8, 8});
  // The head is worth a layer or more: with room the last stage has fewer.
  const std::vector<int> free = bounds.best_layers(s, 64, {32, 32, 32, 32});
  CHECK(free.back() < 8);
}
