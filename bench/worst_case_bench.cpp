// What used to take minutes or gigabytes. --benchmark_filter=worst
#include <benchmark/benchmark.h>

#include "io/catalog/catalog.h"
#include "io/input/strategy_text.h"
#include "models/step/pipeline_time.h"
#include "models/step/step.h"
#include "planner/search/search.h"

namespace {

using trnplan::SimTime;
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

/// Steps of very many micro-batches, their steady rounds counted, or run one by one (`unfolded`).
void worst_step(benchmark::State& state, const char* strategy, bool unfolded) {
  const Setup setup("llama3-8b", 1, 8192, static_cast<int>(state.range(0)));
  const models::Strategy s = trnplan::io::parse_strategy(strategy, setup.job);
  const models::StepModel model(setup.job, s, setup.profile,
                                trnplan::topology::ChipGraph(setup.job.cluster.instance));
  std::size_t tasks = 0;
  for (auto _ : state) tasks = model.simulate({.unfolded = unfolded}).tasks;
  state.counters["tasks"] = static_cast<double>(tasks);
}
BENCHMARK_CAPTURE(worst_step, one_f_one_b, "tp=8,pp=4", false)->Arg(45056)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(worst_step, interleaved, "tp=8,pp=4,vpp=2", false)
    ->Arg(45056)
    ->Arg(10'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(worst_step, zero_bubble, "tp=8,pp=4,schedule=zero-bubble", false)
    ->Arg(45056)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(worst_step, interleaved_one_by_one, "tp=8,pp=4,vpp=2", true)
    ->Arg(4096)
    ->Unit(benchmark::kMillisecond);

/// 1F1B over uneven stages, as moves of layers are timed.
void worst_pipeline_time(benchmark::State& state) {
  models::StepCosts costs;
  costs.micro_batches = 20'000;
  const int stages = static_cast<int>(state.range(0));
  for (int i = 0; i < stages; ++i) {
    const SimTime up{1'000'000'000 + i * 7919 % 1000}, down{2'000'000'000 + i * 104729 % 1000};
    costs.stages.push_back({up + down, up, down, {}, {}});
    if (i + 1 < stages) costs.boundaries.push_back({SimTime{5'000'000}, SimTime{5'000'000}});
  }
  for (auto _ : state) benchmark::DoNotOptimize(models::pipeline_time(costs));
}
BENCHMARK(worst_pipeline_time)->Arg(8)->Arg(63)->Unit(benchmark::kMicrosecond);

/// A large cluster, its refusals explained.
void worst_plan(benchmark::State& state, const char* model, int nodes, int batch, int threads) {
  const Setup setup(model, nodes, 8192, batch);
  for (auto _ : state)
    benchmark::DoNotOptimize(planner::search(setup.job, setup.profile, {.threads = threads}).plans.size());
}
BENCHMARK_CAPTURE(worst_plan, llama31_405b_1800_nodes, "llama3.1-405b", 1800, 24000, 1)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1);
BENCHMARK_CAPTURE(worst_plan, llama31_405b_1800_nodes_2_threads, "llama3.1-405b", 1800, 24000, 2)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->UseRealTime();

}  // namespace
