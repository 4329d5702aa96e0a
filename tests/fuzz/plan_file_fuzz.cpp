// plan.json of a plan's folder, next to a sound config.json.
#include "io/input/plan_file.h"

#include <cmath>

#include "io/input/readers.h"
#include "planner/check/rules.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

namespace {

fuzz::InMemory folder() {
  return fuzz::InMemory({{"d/config.json", io::hf_config_json(fuzz::catalog().architecture("llama3-8b"))}});
}

}  // namespace

void fuzz::plan_file_target(const std::uint8_t* data, std::size_t size) {
  static fuzz::InMemory files = folder();
  files.put("d/plan.json", fuzz::text_of(data, size));
  fuzz::refusable([&] {
    const io::PlanFile plan = io::read_plan_file("d/plan.json", fuzz::catalog(), files);
    fuzz::ensure(plan.step.value > 0 && plan.low.value > 0 && plan.high.value >= plan.low.value &&
                     std::isfinite(plan.high.value),
                 "a prediction is a time with its interval");
    fuzz::ensure(plan.peak.value >= 0 && plan.usd_per_hour >= 0, "memory and price are numbers");
    fuzz::ensure(plan.job.cluster.nodes >= 1 && plan.strategy.tensor_parallel >= 1, "a job has ranks");
    planner::rule_violations(plan.job, plan.strategy);
  });
}
