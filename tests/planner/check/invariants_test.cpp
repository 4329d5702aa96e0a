#include "planner/check/invariants.h"

#include <functional>
#include <limits>
#include <utility>

#include "models/framework/framework.h"
#include "planner/check/judge.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

namespace trnplan {

namespace {

using planner::broken_invariants;
using planner::Plan;

std::string joined(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& s : sentences) text += s + "; ";
  return text;
}

Plan judged_plan(const models::Job& job, const std::string& strategy) {
  const planner::Judgement j = planner::judge(job, strategy_of(job, strategy), datasheet());
  REQUIRE(j.plan);
  return *j.plan;
}

}  // namespace

TEST_CASE("a plan keeps what holds of every plan, until something of it is changed", "[planner]") {
  const models::Job job = job_of("llama3-8b", 2, 4096, 256);
  const Plan good = judged_plan(job, "tp=8,pp=4,recompute=full");
  REQUIRE(joined(broken_invariants(job, good, 0.9)) == "");
  struct Change {
    const char* what;
    std::function<void(Plan&)> apply;
    const char* found;
  };
  const Change all[] = {
      {"TP", [](Plan& p) { p.strategy.tensor_parallel = 16; }, "does not fill the cluster"},
      {"nodes", [](Plan& p) { p.nodes = 4; }, "does not fill the cluster"},
      {"columns", [](Plan& p) { p.strategy.tensor_parallel = 4, p.strategy.pipeline_parallel = 8; },
       "does not fill the cluster"},
      {"micro-batches", [](Plan& p) { ++p.micro_batches; }, "not the global batch"},
      {"batch", [](Plan& p) { p.global_batch = 1000; }, "not the global batch"},
      {"EP", [](Plan& p) { p.strategy.expert_parallel = 2; }, "EP does not divide"},
      {"layers", [](Plan& p) { ++p.memory.stages[1].layers; }, "not the model's"},
      {"an empty stage",
       [](Plan& p) { p.memory.stages[1].layers += std::exchange(p.memory.stages[0].layers, 0); },
       "a stage has no layer"},
      {"stages", [](Plan& p) { p.memory.stages.clear(); }, "not the model's"},
      {"a part", [](Plan& p) { p.memory.stages[0].activations += Bytes(1e6); }, "do not add up to its peak"},
      {"a moment", [](Plan& p) { p.memory.stages[0].moments[1].staging += Bytes(1e10); },
       "do not add up to its peak"},
      {"a negative part", [](Plan& p) { p.memory.stages[0].optimizer = Bytes(-1); }, "not a number of bytes"},
      {"the peak", [](Plan& p) { p.memory.stages[0].parameters += gibibytes(16); }, "it does not fit"},
      {"the probability", [](Plan& p) { p.memory.fit_probability = 0.8; }, "less likely to fit"},
      {"no step", [](Plan& p) { p.report.step = Seconds(std::numeric_limits<double>::quiet_NaN()); },
       "its step is not a time"},
      {"the interval", [](Plan& p) { p.report.high = p.report.step * 0.9; }, "not in its interval"},
      {"the breakdown", [](Plan& p) { p.report.breakdown[0] += p.report.step * 1e-6; }, "does not add up"},
      {"KV copies", [](Plan& p) { p.strategy.kv_replicator = 3; }, "do not divide TP"},
  };
  for (const Change& change : all) {
    Plan bad = good;
    change.apply(bad);
    const std::string broken = joined(broken_invariants(job, bad, 0.9));
    INFO(change.what << ": " << broken);
    CHECK(broken.find(change.found) != std::string::npos);
  }
}

TEST_CASE("a training loop that cuts by cost may leave a stage empty, others may not", "[planner]") {
  models::Job job = job_of("llama3-8b", 1, 4096, 64);
  job.architecture.layers = 3;  // the head, 4096 x 128,256, costs as much as two or three of them
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  models::Strategy s = strategy_of(job, "tp=1,pp=2,dp=4");
  s.framework = models::stated_framework("nanotron");
  const planner::Judgement j = planner::judge(job, s, test_catalog().profile("h100"));
  REQUIRE(j.plan);
  Plan plan = *j.plan;
  REQUIRE(plan.memory.stages[1].layers == 0);
  CHECK(joined(broken_invariants(job, plan, 0)) == "");
  plan.strategy.framework = models::stated_framework("megatron");
  CHECK(joined(broken_invariants(job, plan, 0)) == "a stage has no layer; ");
}

}  // namespace trnplan
