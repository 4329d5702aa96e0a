// Clusters over time.
#include <benchmark/benchmark.h>

#include <memory>

#include "io/catalog/catalog.h"
#include "io/catalog/reliability.h"
#include "planner/cluster/cluster_estimate.h"
#include "text/document.h"

namespace {

using namespace trnplan;

/// Two jobs of 64 nodes for 60 days on 128 nodes and 4 spares, in 1,000 runs. Argument: factor of the
/// catalogue's failure rate.
void cluster_of_128(benchmark::State& state) {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  planner::Reliability reliability = io::reliability_from(read_document(catalog.file("reliability.json")));
  reliability.value(planner::ReliabilityParameter::failure_rate).median *=
      static_cast<double>(state.range(0));
  planner::ClusterSetup setup;
  setup.nodes = 128;
  setup.spares = 4;
  setup.repair = Seconds(kDay);
  const planner::SchedulerKind& slurm = planner::scheduler_kinds().front();
  setup.rule = slurm.make(slurm.defaults);
  for (const char* name : {"a", "b"}) {
    planner::ClusterJob job;
    job.name = name;
    job.nodes = 64;
    job.step = Seconds(5);
    job.steps = 60 * kDay / 5;
    job.every_steps = 200;
    job.checkpoint = Bytes(1e11);
    setup.jobs.push_back(job);
  }
  setup.slowed = {{Seconds{}, Seconds(0.2)}, {Seconds(0.2), Seconds{}}};
  for (auto _ : state)
    benchmark::DoNotOptimize(planner::estimate_cluster(setup, reliability, {.draws = 1000}).span.median);
}
BENCHMARK(cluster_of_128)->Arg(1)->Arg(10)->Unit(benchmark::kMillisecond);

}  // namespace
