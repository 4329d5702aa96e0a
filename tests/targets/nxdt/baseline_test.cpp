// The config in use compared with the winner.
#include "targets/nxdt/baseline.h"

#include "planner/check/judge.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

namespace trnplan {

using targets::Baseline;
using targets::NxdtConfig;

namespace {

/// AWS's config of Llama-3 8B: TP 32, 4 nodes, batch 1024, CoreAttention.
NxdtConfig shipped() {
  return targets::read_nxdt(TRNPLAN_SOURCE_DIR "/tests/io/fixtures/nxdt/hf_llama3_8B_config.yaml");
}

planner::Plan plan_of(const models::Job& job, const std::string& strategy) {
  const planner::Judgement judged = planner::judge(job, strategy_of(job, strategy), datasheet());
  REQUIRE(judged.plan);
  return *judged.plan;
}

std::string text_of(const std::vector<targets::Change>& changes) {
  std::string text;
  for (const targets::Change& c : changes)
    text += c.key.substr(c.key.rfind('.') + 1) + " " + c.from + ">" + c.to + "; ";
  return text;
}

}  // namespace

TEST_CASE("a baseline is predicted on the plan's cluster and compared key by key", "[planner][baseline]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const planner::Plan winner = plan_of(job, "tp=8,recompute=CoreAttention+LlamaMLP");
  const NxdtConfig config = shipped();
  REQUIRE(targets::baseline_faults(job, config, job.architecture).empty());
  const Baseline b = targets::baseline_of(job, config, job.architecture, datasheet(), &winner);
  CHECK(b.broken.empty());
  REQUIRE(b.plan);
  CHECK(describe(b.strategy) == "TP 32 x PP 1 x DP 1, micro-batch 1, SP, recompute CoreAttention");
  // The tutorial measured 626 to 635 s; the same prediction as of a job that pins TP 32.
  CHECK(b.plan->report.step == plan_of(job, "tp=32,kv=4").report.step);
  CHECK(targets::speedup(winner, b) == Approx(b.plan->report.step / winner.report.step));
  CHECK(targets::speedup(winner, b) > 1.2);
  CHECK(text_of(b.changes) ==
        "num_nodes 4>1; model_parallel_size 32>8; tensor_model_parallel_size 32>8; kv_replicator 4>1; "
        "activations_checkpoint_recompute [CoreAttention]>[CoreAttention, LlamaMLP]; ");
  for (const targets::Change& c : b.changes) CHECK(c.at.line > 0);
  REQUIRE(b.remarks.size() == 1);
  CHECK(b.remarks[0].find("trainer.num_nodes: 4") != std::string::npos);
}

TEST_CASE("the config of a plan needs no change for it", "[planner][baseline]") {
  models::Job job = job_of("llama3-8b", 2, 8192, 1024);
  for (const char* text : {"tp=8,recompute=CoreAttention+LlamaMLP", "tp=8,pp=4,cuts=6/15/24,mbs=2",
                           "tp=32,cp=2,kv=4", "tp=8,pp=8,vpp=2,recompute=full,zero1=false"}) {
    const models::Strategy s = strategy_of(job, text);
    const NxdtConfig config = targets::to_nxdt(job, s);
    CAPTURE(text);
    CHECK(text_of(targets::changes_to(job, s, config, job.architecture)) == "");
  }
}

TEST_CASE("keys that do not change the program are not mentioned", "[planner][baseline]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  models::Strategy s = strategy_of(job, "tp=32,kv=4,recompute=none");
  NxdtConfig config = targets::to_nxdt(job, s);
  for (targets::NxdtKey& k : config.keys) {
    // With flash attention CoreAttention is never called.
    if (k.key == "model.activations_checkpoint_granularity") k.text = "null";
    if (k.key == "model.activations_checkpoint_recompute") k.text = "null";
    if (k.key == "distributed_strategy.sequence_parallel") k.text = "true";
  }
  std::erase_if(config.keys, [](const targets::NxdtKey& k) {
    return k.key == "distributed_strategy.virtual_pipeline_model_parallel_size" ||
           k.key == "distributed_strategy.zero1";
  });
  CHECK(text_of(targets::changes_to(job, s, config, job.architecture)) == "");
  s = strategy_of(job, "tp=8,pp=2,cuts=15");
  const std::string changes = text_of(targets::changes_to(job, s, config, job.architecture));
  CHECK(changes.find("pipeline_cuts null>[\"model.layers.15\"]") != std::string::npos);
  CHECK(changes.find("checkpoint_recompute") == std::string::npos);
}

TEST_CASE("a refused baseline says why, and what to change all the same", "[planner][baseline]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const planner::Plan winner = plan_of(job, "tp=8,recompute=CoreAttention+LlamaMLP");
  NxdtConfig config = shipped();
  for (targets::NxdtKey& k : config.keys) {
    if (k.key == "distributed_strategy.tensor_model_parallel_size") k.text = "16";
    if (k.key == "distributed_strategy.kv_replicator") k.text = "2";
  }
  const Baseline b = targets::baseline_of(job, config, job.architecture, datasheet(), &winner);
  REQUIRE_FALSE(b.broken.empty());
  CHECK(b.broken[0].rule == "replica-group");
  CHECK(text_of(b.changes).find("tensor_model_parallel_size 16>8") != std::string::npos);
}

TEST_CASE("a baseline that does not fit is not compared by speed", "[planner][baseline]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 1024);
  const planner::Plan winner = plan_of(job, "tp=8,recompute=CoreAttention+LlamaMLP");
  NxdtConfig config = shipped();
  for (targets::NxdtKey& k : config.keys) {
    // TP 4: a quarter of 8 B parameters with gradients is 11.2 GiB before any activation.
    if (k.key == "distributed_strategy.tensor_model_parallel_size") k.text = "4";
    if (k.key == "distributed_strategy.kv_replicator") k.text = "1";
  }
  const Baseline b = targets::baseline_of(job, config, job.architecture, datasheet(), &winner);
  REQUIRE_FALSE(b.broken.empty());
  CHECK(b.broken[0].rule == "memory");
  REQUIRE(b.plan);  // it has a program, and would even be fast
  CHECK_FALSE(b.runs());
  CHECK(targets::speedup(winner, b) == 0);
  CHECK_FALSE(b.changes.empty());
}

TEST_CASE("a baseline of something else is a fault that names the key", "[planner][baseline]") {
  const NxdtConfig config = shipped();
  const models::Architecture trained = test_catalog().architecture("llama3-8b");
  const auto keys = [&](const models::Job& job) {
    std::string text;
    for (const Diagnostic& d : targets::baseline_faults(job, config, trained)) {
      CHECK(d.at.line > 0);
      text += d.key + " ";
    }
    return text;
  };
  CHECK(keys(job_of("llama3-8b", 1, 8192, 1024)) == "");
  CHECK(keys(job_of("llama3-8b", 1, 4096, 1024)) == "model.encoder_seq_length ");
  CHECK(keys(job_of("llama3-70b", 1, 8192, 1024)) == "model.num_layers ");
  // Another batch can be compared by tokens, and is remarked.
  const models::Job job = job_of("llama3-8b", 4, 8192, 512);
  const Baseline b = targets::baseline_of(job, config, trained, datasheet(), nullptr);
  REQUIRE(b.remarks.size() == 1);
  CHECK(b.remarks[0].find("data.global_batch_size: 1024 is not the job's global batch 512") !=
        std::string::npos);
  CHECK(b.changes.empty());
}

}  // namespace trnplan
