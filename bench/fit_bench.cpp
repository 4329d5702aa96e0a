// The fit that the shipped profile is made by.
#include <benchmark/benchmark.h>

#include "calibrate/fit/step_fit.h"
#include "io/catalog/catalog.h"
#include "logs/table/measured_collectives.h"
#include "logs/table/measured_runs.h"
#include "text/document.h"

namespace {

using namespace trnplan;

/// All published runs and the collectives of one nccom-test build.
void fit_of_the_catalogue(benchmark::State& state) {
  const io::Catalog catalog(TRNPLAN_SOURCE_DIR "/catalog");
  const topology::Instance instance = catalog.instance("trn1.32xlarge");
  const models::Profile prior = catalog.profile("trn1-datasheet");
  const auto text = [](const char* name) {
    return read_text(std::string(TRNPLAN_SOURCE_DIR "/catalog/") + name);
  };
  const auto mapped =
      calibrate::map_runs(logs::parse_measured_runs(text("measured-runs.csv"), "runs"), instance);
  auto points = logs::parse_measured_collectives(text("measured-collectives.csv"), "collectives");
  std::erase_if(points, [](const logs::MeasuredCollective& p) { return p.build != "2023-04"; });
  points = calibrate::select_points(points, instance, prior).points;
  for (auto _ : state) {
    const calibrate::StepBench bench(mapped.steps);
    const calibrate::CollectiveBench collectives(points, instance);
    benchmark::DoNotOptimize(calibrate::fit_steps(bench, &collectives, prior).iterations);
  }
}
BENCHMARK(fit_of_the_catalogue)->Unit(benchmark::kMillisecond);

}  // namespace
