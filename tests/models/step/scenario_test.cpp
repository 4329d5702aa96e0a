// Steps on machines that are not ideal, against numbers by hand.
#include <cmath>

#include "models/collective/switched_parameters.h"
#include "models/memory/memory.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "units/sim_time.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Job ring_job() {
  Job job = job_of("llama3-8b", 2, 2048, 16);
  job.cluster.instance = gpu_machine();
  return job;
}

Seconds part(const StepReport& r, Category c) {
  return r.breakdown[static_cast<std::size_t>(c)];
}

}  // namespace

// 16 replicas of one GPU each on two nodes reduce their gradients in one ring, after the last backward pass. Of the
// bytes of an all-reduce a ring of 16 sends 2 x 15/16 out of each node, an eighth through each NIC of 50 GB/s, of which
// the profile gives a share. With s of the network left it takes 1/s of that time: one NIC of 8 dead, 8/7 exactly.
TEST_CASE("a ring through a node with a dead NIC takes as many times as long as NICs are left", "[models]") {
  const Job job = ring_job();
  const Strategy s = strategy_of(job, "tp=1,zero1=false,framework=megatron-deepspeed");
  const StepModel model(job, s, gpu_profile(), topology::ChipGraph(job.cluster.instance));
  const StepReport ideal = model.simulate();
  const double bytes = 2 * local_parameters(job.architecture, s, 0);
  const double network =
      bytes * 2 * 15 / 16 / 8 / (50e9 * on_job(gpu_profile(), job)[switched::network_share]);
  for (const double share : {7.0 / 8, 1.0 / 2, 1.0 / 8}) {
    const StepReport slow = model.simulate({.scenario = {{}, {{1, {.network = share}}}}});
    CAPTURE(share);
    CHECK((slow.step - ideal.step).value == Approx(network * (1 / share - 1)).epsilon(1e-9));
    CHECK((part(slow, Category::data_parallel) - part(ideal, Category::data_parallel)).value ==
          Approx(network * (1 / share - 1)).epsilon(1e-9));
  }
}

// With half of the network left the ring takes twice its time, on all nodes and on a cluster built that way.
TEST_CASE("what others leave of the network is its oversubscription", "[models]") {
  Job job = ring_job();
  const Strategy s = strategy_of(job, "tp=1,zero1=false,framework=megatron-deepspeed");
  const topology::ChipGraph graph(job.cluster.instance);
  const StepReport shared = StepModel(job, s, gpu_profile(), graph).simulate({.scenario = {.spine = 0.5}});
  const StepReport both =
      StepModel(job, s, gpu_profile(), graph).simulate({.scenario = {{}, {{0, {.network = 0.5}}}}});
  job.cluster.oversubscription = 2;
  const StepReport built = StepModel(job, s, gpu_profile(), graph).simulate();
  CHECK(shared.step == built.step);
  CHECK(shared.step == both.step);
}

// One replica and one stage: a step of m micro-batches is the sum of its passes, and each is as long as on the slowest
// of its 8 ranks. The largest of 8 standard normals has mean 1.4236 and standard deviation 0.6107 (H. Harter,
// Biometrika 48, 1961). With a spread so small that the factors 1 + sd z are linear, the step takes 1.4236 sd of
// its work longer, and its standard deviation is 0.6107 sd sqrt(m (f^2 + b^2) + u^2), of forward, backward and update.
TEST_CASE("random times spread a step as the sum of its passes", "[models]") {
  Job job = job_of("llama3-8b", 1, 2048, 8);
  job.cluster.instance = gpu_machine();
  const StepModel model(job, strategy_of(job, "tp=8,zero1=false"), gpu_profile(),
                        topology::ChipGraph(job.cluster.instance));
  const StepReport ideal = model.simulate();
  const double work = part(ideal, Category::compute).value, update = part(ideal, Category::optimizer).value;
  const double sd = 1e-3, third = work / 8 / 3;  // a forward takes between a quarter and half of its pass
  const Scenario random{.random = {sd, 400, 1}};
  const StepRuns runs = model.simulate_runs(random);
  const double longer = (runs.median.step - ideal.step).value / sd;
  CHECK(longer == Approx(1.4236 * (work + update)).epsilon(0.05));
  const double least = 0.6107 * sd * std::sqrt(8 * 4.5 * third * third + update * update),
               most = 0.6107 * sd * std::sqrt(8 * 5.7 * third * third + update * update);
  const double spread = (runs.runs.high - runs.runs.low).value / 2 / 1.645;
  CHECK(spread > 0.85 * least);
  CHECK(spread < 1.15 * most);
  CHECK(model.simulate_runs(random).median.step == runs.median.step);
  CHECK(model.simulate({.scenario = {.random = {0, 400, 1}}}).step == ideal.step);
}

// Eight replicas of one GPU each wait for the slowest before they reduce gradients, and again at the end. The largest
// of
// 8 standard normals is 1.385 in the median (0.5^(1/8) = 0.917) and 1.4236 in the mean (H. Harter, Biometrika 48,
// 1961). With one micro-batch each, forward and backward of f + b vary by sd sqrt(f^2 + b^2), and a backward takes once
// to three times as long as a forward; the update u by sd u.
TEST_CASE("the slowest of several replicas paces the step", "[models]") {
  Job job = job_of("llama3-8b", 1, 2048, 8);
  job.cluster.instance = gpu_machine();
  const StepModel model(job, strategy_of(job, "tp=1,zero1=false,framework=megatron-deepspeed"), gpu_profile(),
                        topology::ChipGraph(job.cluster.instance));
  const StepReport ideal = model.simulate();
  const double work = part(ideal, Category::compute).value, update = part(ideal, Category::optimizer).value;
  const StepRuns runs = model.simulate_runs({.random = {1e-3, 400, 1}});
  const double more = (runs.median.step - ideal.step).value / 1e-3;
  CHECK(more > 0.95 * 1.385 * (work * std::sqrt(1.0 / 2) + update));
  CHECK(more < 1.05 * 1.4236 * (work * std::sqrt(10.0 / 16) + update));
}

// All ranks wait for those that come 3 s later, and nothing that they do is shorter for it.
TEST_CASE("a node that is late delays the step by as much", "[models]") {
  const Job job = ring_job();
  for (const char* layout :
       {"tp=1,zero1=false,framework=megatron-deepspeed", "tp=8,pp=2", "tp=4,framework=fsdp"}) {
    const StepModel model(job, strategy_of(job, layout), gpu_profile(),
                          topology::ChipGraph(job.cluster.instance));
    const Scenario late{{}, {{0, {.late = Seconds(3)}}}};
    CAPTURE(layout);
    CHECK((model.simulate({.scenario = late}).step - model.simulate().step).value == Approx(3).epsilon(1e-9));
  }
}
