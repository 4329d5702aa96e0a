#include "targets/nemo_megatron/nemo_megatron_target.h"

#include <algorithm>

#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/setup.h"
#include "tests/targets/commands.h"

using namespace trnplan;

namespace {

models::Job rounding(const char* model, int nodes = 4, int batch = 256) {
  models::Job job = job_of(model, nodes, 4096, batch);
  job.training.precision = models::Precision::bf16_sr;
  return job;
}

}  // namespace

// Names and types of all keys: tests/launch/folder/entry_points.

TEST_CASE("NeMo-Megatron: every value of the optimizer, so that no default of its YAML counts", "[targets]") {
  const auto c =
      command_of(targets::nemo_megatron(), rounding("llama2-7b"), "tp=8,flash=false,recompute=full");
  for (const char* word :
       {"model.optim.name=adamw", "model.optim.lr=0.0003", "model.optim.betas=[0.9,0.95]",
        "model.optim.weight_decay=0.1", "model.optim.capturable=True", "model.optim.sched.warmup_steps=2000",
        "model.optim.sched.constant_steps=0", "model.optim.sched.min_lr=3e-05",
        "model.tokenizer.type=$TRNPLAN_TOKENIZER", "+model.save_xser=True", "+model.load_xser=True",
        "trainer.max_steps=$steps", "+exp_manager.checkpoint_callback_params.every_n_train_steps=200",
        "exp_manager.create_checkpoint_callback=$checkpoints"}) {
    INFO(word);
    CHECK(has(c.arguments, word));
  }
  CHECK(c.steps == 10000);
  CHECK(c.compile_steps == 4);
  REQUIRE(targets::nemo_megatron().asked().size() == 1);
  CHECK(targets::nemo_megatron().asked()[0].name == "TRNPLAN_TOKENIZER");
  // No checkpoint while compiling.
  CHECK(std::any_of(c.by_mode.begin(), c.by_mode.end(), [](const planner::ModeVariable& v) {
    return v.name == "checkpoints" && v.compiling == "False" && v.training == "True";
  }));
  CHECK(has(c.environment, "XLA_USE_BF16=1"));
  CHECK(has(c.environment, "NEURON_RT_STOCHASTIC_ROUNDING_EN=1"));
  CHECK(has(c.environment, "NEURON_TRANSFER_WITH_STATIC_RING_OPS="));
}

TEST_CASE("NeMo-Megatron: the compiler's strategy, but not with flash attention", "[targets]") {
  const models::Job job = rounding("llama2-7b");
  const std::string flags = "NEURON_CC_FLAGS=--model-type transformer",
                    more = " --enable-mixed-precision-accumulation";
  CHECK(has(command_of(targets::nemo_megatron(), job, "tp=8,flash=false,recompute=full").environment,
            flags + " --distribution-strategy=llm-training" + more));
  const auto flash = command_of(targets::nemo_megatron(), job, "tp=8,flash=true,recompute=full");
  CHECK(has(flash.environment, flags + more));
  CHECK(has(flash.arguments, "+model.use_flash_attention=True"));
  // No recompute is no granularity.
  CHECK(has(command_of(targets::nemo_megatron(), job, "tp=32,flash=false,recompute=none").arguments,
            "model.activations_checkpoint_granularity=null"));
}

TEST_CASE("NeMo-Megatron: mixed precision is ZeRO-1 with master weights", "[targets]") {
  const models::Job job = job_of("llama2-7b", 4, 4096, 256);
  const auto c = command_of(targets::nemo_megatron(), job, "tp=8,flash=false,recompute=full");
  for (const char* key : {"wrap_with_zero", "zero_use_master_weight", "zero_use_fp32_grad_accum"})
    CHECK(has(c.arguments, std::string("model.") + key + "=True"));
  CHECK(has(c.environment, "XLA_DOWNCAST_BF16=1"));
  CHECK(has(c.environment, "NEURON_RT_STOCHASTIC_ROUNDING_EN=0"));
  CHECK(contains(why_not(targets::nemo_megatron(), job, "tp=8,zero1=false,recompute=full"),
                 "master weights without ZeRO-1"));
}

TEST_CASE("NeMo-Megatron: the base config of large models has keys of its own", "[targets]") {
  const auto c = command_of(targets::nemo_megatron(), rounding("llama2-70b", 32, 512),
                            "tp=8,pp=16,flash=false,recompute=full");
  CHECK(has(c.arguments, "--config-name=megatron_llama_70b_config"));
  CHECK(has(c.arguments, "model.num_kv_heads=8"));
  CHECK(has(c.arguments, "exp_manager.checkpoint_callback_params.save_last=False"));
  const auto small =
      command_of(targets::nemo_megatron(), rounding("llama3-8b"), "tp=8,flash=false,recompute=full");
  CHECK(has(small.arguments, "--config-name=megatron_llama_config"));
  CHECK(has(small.arguments, "+model.num_kv_heads=8"));
  CHECK(has(small.arguments, "+model.position_freq_base=500000"));
}

TEST_CASE("NeMo-Megatron refuses what it asserts against", "[targets]") {
  const models::Job job = rounding("llama2-70b", 8, 512);
  // TP 8, PP 16 on 8 nodes is DP 2: 16 ranks of data and tensor parallel, less than 32.
  CHECK(contains(why_not(targets::nemo_megatron(), job, "tp=8,pp=16,flash=false,recompute=full"),
                 "refuses DP 2"));
  CHECK(why_not(targets::nemo_megatron(), rounding("llama2-70b", 16, 512),
                "tp=8,pp=16,flash=false,recompute=full")
            .empty());
  CHECK(why_not(targets::nemo_megatron(), rounding("llama2-70b", 4, 512),
                "tp=8,pp=16,flash=false,recompute=full")
            .empty());  // DP 1
  CHECK(contains(why_not(targets::nemo_megatron(), rounding("llama2-70b", 32, 512),
                         "tp=32,pp=8,flash=false,recompute=full"),
                 "it does not copy them"));
  CHECK(
      contains(why_not(targets::nemo_megatron(), rounding("llama3.1-8b"), "tp=8,flash=false,recompute=full"),
               "rope_scaling"));
  CHECK(contains(
      why_not(targets::nemo_megatron(), rounding("llama2-7b"), "tp=8,pp=2,vpp=2,flash=false,recompute=full"),
      "virtual pipeline"));
  CHECK(contains(why_not(targets::nemo_megatron(), rounding("llama2-7b"), "tp=8,cp=2,recompute=full"),
                 "context parallel"));
}
