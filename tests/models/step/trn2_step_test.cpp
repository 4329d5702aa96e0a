// Steps on trn2: the forms of a step agree, the bound holds, with logical cores of one and of two physical ones, in the
// torus of one instance and of four, for NxD and for FSDP.
#include <string>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/collective/collective_timing.h"
#include "models/framework/framework.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Job trn2_job(const std::string& instance, int nodes, int sequence, int batch) {
  Job job = job_of("llama3-8b", nodes, sequence, batch);
  job.cluster.instance = test_catalog().instance(instance);
  return job;
}

Profile trn2_profile() {
  return test_catalog().profile("trn2");
}

}  // namespace

TEST_CASE("steps on trn2 are the same folded and flat, and no shorter than their bound", "[models]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 60)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  const char* const kinds[] = {"trn2.3xlarge",  "trn2.3xlarge-lnc1",  "trn2.48xlarge",
                               "trn2.48xlarge", "trn2.48xlarge-lnc1", "trn2u-ultraserver"};
  const std::string kind = kinds[pick({0, 1, 2, 3, 4, 5})];
  const int cores = test_catalog().instance(kind).cores();
  const int nodes = cores > 64 ? 1 : pick({1, 2});
  const bool fsdp = pick({0, 1}) == 1;
  const int tensor = pick({1, 4, 8, 16, 32, 64}), pipeline = fsdp ? 1 : pick({1, 1, 2, 4});
  if (nodes * cores % (tensor * pipeline) != 0) return;
  Job job = trn2_job(kind, nodes, 2048, nodes * cores / (tensor * pipeline) * pick({2, 4}));
  job.architecture.layers = pick({4, 8});
  Strategy s = strategy_of(job, "tp=" + std::to_string(tensor) + ",pp=" + std::to_string(pipeline) +
                                    (pick({0, 1}) == 1 ? ",recompute=full" : "") +
                                    (fsdp ? ",framework=fsdp,shard=fsdp" : ""));
  if (!StepModel::not_modelled(job, s).empty()) return;
  CAPTURE(seed, kind, nodes, tensor, pipeline, fsdp);
  const Profile profile = trn2_profile();
  const topology::ChipGraph graph(job.cluster.instance);
  const StepModel model(job, s, profile, graph);
  const StepReport folded = model.simulate();
  CHECK(model.simulate({.flat = true}).step == folded.step);
  CHECK(model.simulate({.unfolded = true}).step == folded.step);
  CHECK(model.lower_bound() <= folded.step);
  CHECK(folded.low < folded.step);
  CHECK(folded.step < folded.high);
}

// The interval carries that no run of trn2 stands behind the profile.
TEST_CASE("the interval of a step on trn2", "[models]") {
  const std::string layout =
      GENERATE("tp=16", "tp=32", "tp=4,framework=fsdp,shard=fsdp", "tp=8,framework=fsdp,shard=fsdp");
  const std::string kind = GENERATE("trn2.48xlarge", "trn2.48xlarge-lnc1");
  if (kind == "trn2.48xlarge-lnc1" && layout == "tp=16") return;  // no legal group
  const Job job = trn2_job(kind, 16, 8192, 1024);
  const topology::ChipGraph graph(job.cluster.instance);
  const Profile profile = trn2_profile();
  const StepReport r = StepModel(job, strategy_of(job, layout), profile, graph).simulate();
  CAPTURE(layout, kind, r.step.value, r.low.value, r.high.value);
  const double half_width = (r.high.value - r.low.value) / 2 / r.step.value;
  CHECK(half_width <= 0.60);
  CHECK(half_width >= 0.15);
}

TEST_CASE("PyTorch's FSDP runs on trn2 and GPUs, not on trn1", "[models]") {
  Strategy s;
  s.framework = stated_framework("fsdp");
  CHECK(framework_of(s).trains_on(test_catalog().instance("trn2.48xlarge").traits));
  CHECK(framework_of(s).trains_on(test_catalog().instance("p5.48xlarge").traits));
  CHECK_FALSE(framework_of(s).trains_on(test_catalog().instance("trn1.32xlarge").traits));
  s.framework = stated_framework("fsdp1");
  CHECK_FALSE(framework_of(s).trains_on(test_catalog().instance("trn2.48xlarge").traits));
  CHECK(usual_framework(test_catalog().instance("trn2.48xlarge").traits) == stated_framework("nxd"));
}
