// Clusters compared.
#include <benchmark/benchmark.h>

#include "io/catalog/catalog.h"
#include "io/catalog/reliability.h"
#include "planner/cost/whatif.h"
#include "planner/search/search.h"
#include "text/document.h"

namespace {

using namespace trnplan;

/// Llama-3 70B on 1 to 1,875 nodes, as whatif --nodes 1..1875 asks.
void whatif_70b(benchmark::State& state) {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  const models::Profile profile = catalog.profile("trn1");
  const planner::Reliability reliability =
      io::reliability_from(read_document(catalog.file("reliability.json")));
  models::Job job;
  job.architecture = catalog.architecture("llama3-70b");
  job.cluster = {catalog.instance("trn1.32xlarge"), 16};
  job.training = {8192, 1024, 15e12, models::Precision::mixed_precision};
  planner::WhatIfQuestion question;
  question.instances = {job.cluster.instance};
  question.nodes = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1875};
  question.tokens = job.training.tokens;
  for (auto _ : state)
    benchmark::DoNotOptimize(planner::whatif(job, question, profile, reliability).points.size());
}
BENCHMARK(whatif_70b)->Unit(benchmark::kMillisecond);

/// Llama-3 8B on 21 clusters with every precision: the search of a job that leaves most open.
void plan_of_many_clusters(benchmark::State& state) {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  const models::Profile profile = catalog.profile("trn1");
  models::Job job;
  job.architecture = catalog.architecture("llama3-8b");
  job.training = {8192, 1024, 15e12, models::Precision::mixed_precision};
  for (const char* name : {"trn1.2xlarge", "trn1.32xlarge", "trn1n.32xlarge"})
    job.space.instances.push_back(catalog.instance(name));
  job.space.nodes = {1, 2, 4, 8, 16, 32, 64};
  job.space.precision = true;
  job.cluster = {job.space.instances.front(), 64};
  int strategies = 0;
  for (auto _ : state) {
    const auto result = planner::search(job, profile, {.threads = 1});
    strategies = result.counts.enumerated;
  }
  state.counters["strategies"] = strategies;
}
BENCHMARK(plan_of_many_clusters)->Unit(benchmark::kMillisecond);

}  // namespace
