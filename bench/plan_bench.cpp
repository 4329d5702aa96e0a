// Whole plans and single steps. Run the release preset: build/release/bench/trnplan_bench
#include <benchmark/benchmark.h>

#include "io/catalog/catalog.h"
#include "io/input/strategy_text.h"
#include "models/step/step.h"
#include "models/step/step_bound.h"
#include "planner/check/rules.h"
#include "planner/plan/space.h"
#include "planner/search/candidates.h"
#include "planner/search/search.h"

namespace {

using trnplan::io::Catalog;
namespace models = trnplan::models;
namespace planner = trnplan::planner;

struct Setup {
  models::Job job;
  models::Profile profile;

  Setup(const char* model, int nodes, int sequence, int batch) {
    const Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
    job.architecture = catalog.architecture(model);
    job.cluster = {catalog.instance("trn1.32xlarge"), nodes};
    job.training = {sequence, batch, 0, models::Precision::mixed_precision};
    profile = catalog.profile("trn1-datasheet");
  }
};

void plan(benchmark::State& state, const char* model, int nodes, int batch, int threads) {
  const Setup setup(model, nodes, 8192, batch);
  int strategies = 0, simulated = 0;
  for (auto _ : state) {
    const auto result = planner::search(setup.job, setup.profile, {.threads = threads});
    strategies = result.counts.enumerated;
    simulated = result.counts.simulated;
    benchmark::DoNotOptimize(result.plans.size());
  }
  state.counters["strategies"] = strategies;
  state.counters["simulated"] = simulated;
}
BENCHMARK_CAPTURE(plan, llama3_8b_1_node, "llama3-8b", 1, 1024, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, llama3_70b_16_nodes, "llama3-70b", 16, 1024, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, llama3_70b_16_nodes_2_threads, "llama3-70b", 16, 1024, 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK_CAPTURE(plan, llama31_405b_64_nodes, "llama3.1-405b", 64, 256, 1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(plan, llama31_405b_64_nodes_2_threads, "llama3.1-405b", 64, 256, 2)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

/// What comes before simulation, from nothing: enumeration, rules, replica groups, memory, bounds.
void bounds(benchmark::State& state, const char* model, int nodes, int batch) {
  const Setup setup(model, nodes, 8192, batch);
  std::size_t strategies = 0;
  for (auto _ : state) {
    const planner::Candidates all(setup.job, setup.profile, false, {}, 1);
    strategies += all.all.size();
  }
  state.counters["strategies/s"] =
      benchmark::Counter(static_cast<double>(strategies), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(bounds, llama3_70b_16_nodes, "llama3-70b", 16, 1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bounds, llama31_405b_64_nodes, "llama3.1-405b", 64, 256)->Unit(benchmark::kMillisecond);

/// The bound alone, of every strategy that breaks no rule about numbers, whether it fits or not: first what
/// they share is timed, then all of them again.
void bound_only(benchmark::State& state, const char* model, int nodes, int batch) {
  const Setup setup(model, nodes, 8192, batch);
  const trnplan::topology::ChipGraph graph(setup.job.cluster.instance);
  std::vector<models::Strategy> legal;
  for (const models::Strategy& s : planner::enumerate(setup.job)) {
    if (planner::rule_violations(setup.job, s).empty()) legal.push_back(s);
  }
  std::size_t bounded = 0;
  for (auto _ : state) {
    models::StepBounds all(setup.job, setup.profile, graph);
    for (const models::Strategy& s : legal) {
      benchmark::DoNotOptimize(all.lower_bound(s, models::micro_batches(setup.job.training, s)));
    }
    bounded += legal.size();
  }
  state.counters["strategies/s"] =
      benchmark::Counter(static_cast<double>(bounded), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(bound_only, llama3_70b_16_nodes, "llama3-70b", 16, 1024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(bound_only, llama31_405b_64_nodes, "llama3.1-405b", 64, 256)->Unit(benchmark::kMillisecond);

void step(benchmark::State& state, const char* model, int nodes, int batch, const char* strategy) {
  const Setup setup(model, nodes, 8192, batch);
  const models::Strategy s = trnplan::io::parse_strategy(strategy, setup.job);
  std::uint64_t events = 0;
  for (auto _ : state) events += models::simulate_step(setup.job, s, setup.profile).events;
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK_CAPTURE(step, llama3_8b_tp32, "llama3-8b", 1, 1024, "tp=32")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, llama3_70b_tp32_pp8_dp2, "llama3-70b", 16, 1024,
                  "tp=32,pp=8,recompute=CoreAttention+LlamaMLP")
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(step, llama31_405b_tp32_pp32_dp2, "llama3.1-405b", 64, 256, "tp=32,pp=32,recompute=full")
    ->Unit(benchmark::kMillisecond);

/// 30,000 chips: 60,000 cores.
BENCHMARK_CAPTURE(step, llama31_405b_1875_nodes, "llama3.1-405b", 1875, 24000, "tp=32,pp=25,recompute=full")
    ->Unit(benchmark::kMillisecond);

/// A device per core and every group of its own: 256 cores, 32 layers, 4 micro-batches.
void flat_step(benchmark::State& state) {
  const Setup setup("llama3-8b", 8, 8192, 128);
  const models::Strategy s = trnplan::io::parse_strategy("tp=8,dp=32", setup.job);
  std::uint64_t tasks = 0;
  for (auto _ : state) tasks = models::simulate_step(setup.job, s, setup.profile, {.flat = true}).tasks;
  state.counters["tasks"] = static_cast<double>(tasks);
}
BENCHMARK(flat_step)->Unit(benchmark::kMillisecond);

}  // namespace
