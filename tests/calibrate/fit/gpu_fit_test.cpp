// Fits of a GPU's parameters to invented runs whose truth is known.
#include "calibrate/fit/gpu_fit.h"

#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using calibrate::GpuFit;
using calibrate::GpuFitPlan;
using calibrate::GpuRun;

namespace {

/// Steps of four layouts of a network, of 32 layers, as a profile predicts them; of a source with the framework's name.
std::vector<GpuRun> gpu_runs_by(const models::Profile& truth, const std::string& framework,
                                const std::string& network = "llama3-8b") {
  std::vector<GpuRun> runs;
  for (const char* layout : {"tp=1", "tp=2", "tp=4", "tp=8"}) {
    GpuRun r;
    r.id = framework + layout;
    r.source = framework;
    r.job = job_of(network, 1, 2048, 16);
    r.job.architecture.layers = 32;
    r.job.cluster.instance = gpu_machine();
    r.job.software.framework = framework;
    r.strategy = strategy_of(r.job, std::string(layout) + ",mbs=1,framework=" + framework);
    r.seconds = models::simulate_step(r.job, r.strategy, truth).step.value;
    runs.push_back(std::move(r));
  }
  return runs;
}

GpuRun from(std::string source, GpuRun run) {
  run.source = std::move(source);
  return run;
}

GpuFitPlan gpu_plan(std::vector<calibrate::GpuParameter> parameters) {
  GpuFitPlan plan;
  plan.profile = "true";
  plan.prior = "round";
  plan.sources = {{"megatron", "A"}, {"nanotron", "A"}};
  plan.parameters = std::move(parameters);
  return plan;
}

models::Profile wide_gpu() {
  models::Profile p = gpu_profile();
  for (models::Value& v : p.values) v.log_sd = 2;
  return p;
}

}  // namespace

// Catches wrong slopes, a scope that reaches other rows, and a step that the prior holds back.
TEST_CASE("a fit finds the parameters that made its runs", "[calibrate]") {
  models::Profile fast = gpu_profile();
  fast.value(models::gpu::gemm_share).median *= 1.2;
  models::Profile slow = fast;
  slow.value(models::gpu::kernel_pace).median *= 1.3;
  std::vector<GpuRun> runs = gpu_runs_by(fast, "megatron");
  for (GpuRun& r : gpu_runs_by(slow, "nanotron")) runs.push_back(std::move(r));
  const GpuFitPlan plan = gpu_plan({{models::gpu::gemm_share, ""}, {models::gpu::kernel_pace, "nanotron"}});
  const GpuFit fit = calibrate::fit_gpu(runs, plan, wide_gpu(), slow, false, 12, 2);
  REQUIRE(fit.parameters.size() == 2);
  CHECK(fit.rows == 8);
  CHECK(fit.parameters[0].value.median == Approx(0.6).epsilon(0.01));
  CHECK(fit.parameters[1].value.median == Approx(1.3).epsilon(0.01));
  CHECK(fit.errors[0].fitted.median < 0.003);
  CHECK(fit.errors[1].fitted.median < 0.003);
  // Without nanotron's rows nothing tells its pace, and the prior's 1 is 30 % off where kernels are all.
  CHECK(fit.errors[1].without_source.median > 0.1);
  // Two threads and one agree to the last digit.
  CHECK(calibrate::fit_gpu(runs, plan, wide_gpu(), slow, false, 12, 1).parameters[0].value.median ==
        fit.parameters[0].value.median);
  // One iteration from the truth moves nothing.
  for (const calibrate::FittedGpuParameter& p :
       calibrate::fit_gpu(runs, plan, wide_gpu(), slow, true, 12, 2).parameters)
    CHECK(std::abs(p.moved) < 0.05);
}

// Catches rows of a network that are left out by their source alone, where another source tells of it, and rows of
// another network that are left out with it because it has as many layers.
TEST_CASE("errors of a network that the fit did not see", "[calibrate]") {
  models::Profile fast = gpu_profile();
  fast.value(models::gpu::gemm_share).median *= 1.2;
  models::Profile slow = fast;
  slow.value(models::gpu::kernel_pace).median *= 1.3;
  std::vector<GpuRun> runs;
  for (const GpuRun& r : gpu_runs_by(slow, "nanotron")) {
    for (const char* source : {"first", "second"}) runs.push_back(from(source, r));
  }
  for (GpuRun& r : gpu_runs_by(fast, "megatron")) runs.push_back(from("third", std::move(r)));
  for (GpuRun& r : gpu_runs_by(fast, "megatron", "llama2-13b")) runs.push_back(from("wider", std::move(r)));
  GpuFitPlan plan = gpu_plan({{models::gpu::gemm_share, ""}, {models::gpu::kernel_pace, "nanotron"}});
  plan.sources = {{"first", "A"}, {"second", "A"}, {"third", "A"}, {"wider", "A"}};
  const GpuFit fit = calibrate::fit_gpu(runs, plan, wide_gpu(), slow, false, 12, 2);
  REQUIRE(fit.rows == runs.size());
  // One network tells nanotron's pace, in two sources; both tell the share of the peak.
  for (const calibrate::GpuFitErrors& e : fit.errors) {
    CAPTURE(e.source);
    const bool nanotron = e.source == "first" || e.source == "second";
    CHECK(e.rows == 4);
    CHECK(e.without_source.median < 0.003);
    if (nanotron)
      CHECK(e.without_network.median > 0.1);
    else
      CHECK(e.without_network.median < 0.003);
  }
}

// Catches: a loop that shares another one's factors, and does not teach them.
TEST_CASE("a loop's parameter holds for the stacks that run it", "[calibrate]") {
  GpuParameter p;
  GpuRun run;
  p.scope = "megatron-deepspeed";
  for (const char* loop : {"megatron-deepspeed", "megatron-deepspeed-fp16"}) {
    run.strategy.framework = loop;
    CHECK(p.holds(run));
  }
  run.strategy.framework = "megatron";
  CHECK_FALSE(p.holds(run));
}

TEST_CASE("a parameter that holds for no run is refused", "[calibrate]") {
  const GpuFitPlan plan = gpu_plan({{models::gpu::kernel_pace, "fsdp1"}});
  CHECK_THROWS_AS(calibrate::fit_gpu(gpu_runs_by(gpu_profile(), "megatron"), plan, wide_gpu(), gpu_profile(),
                                     false, 12, 1),
                  std::invalid_argument);
}
