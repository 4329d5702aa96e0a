#include "targets/train/target.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using targets::Target;

namespace {

/// Flags of run_llama_nxd.py that its shipped run_llama3_70B_tp_pp.sh and run_llama2_70B_tp_pp.sh pass
/// (aws-neuron/neuronx-distributed examples/training/llama/tp_pp_llama_hf_pretrain). Written down from the
/// shipped scripts as they are known, not compared with a clone: a flag that is emitted must be looked up
/// there and added here by hand.
const std::set<std::string> kNxdFlags = {"--train_batch_size",
                                         "--use_meta_device_init",
                                         "--training_dir",
                                         "--training_config",
                                         "--max_steps",
                                         "--seq_len",
                                         "--pipeline_parallel_size",
                                         "--tensor_parallel_size",
                                         "--num_microbatches",
                                         "--lr",
                                         "--min_lr",
                                         "--beta1",
                                         "--beta2",
                                         "--weight_decay",
                                         "--warmup_steps",
                                         "--constant_steps",
                                         "--use_zero1_optimizer",
                                         "--use_selective_checkpoint",
                                         "--use_flash_attention",
                                         "--qkv_linear",
                                         "--kv_replicator",
                                         "--checkpoint_freq",
                                         "--checkpoint_dir",
                                         "--num_kept_checkpoint",
                                         "--loading_step",
                                         "--tb_dir"};

/// Keys of conf/megatron_llama_config.yaml that test_llama.sh and test_llama_gqa.sh override
/// (aws-neuron/neuronx-nemo-megatron nemo/examples/nlp/language_modeling); likewise. Hydra takes a key that
/// the YAML lacks only with a + in front.
const std::set<std::string> kNemoKeys = {"--config-path",
                                         "--config-name",
                                         "trainer.devices",
                                         "trainer.num_nodes",
                                         "trainer.max_epochs",
                                         "trainer.max_steps",
                                         "trainer.val_check_interval",
                                         "trainer.log_every_n_steps",
                                         "trainer.limit_val_batches",
                                         "trainer.limit_test_batches",
                                         "trainer.accumulate_grad_batches",
                                         "trainer.precision",
                                         "model.tokenizer.type",
                                         "model.micro_batch_size",
                                         "model.global_batch_size",
                                         "model.tensor_model_parallel_size",
                                         "model.pipeline_model_parallel_size",
                                         "model.max_position_embeddings",
                                         "model.encoder_seq_length",
                                         "model.hidden_size",
                                         "model.ffn_hidden_size",
                                         "model.num_layers",
                                         "model.num_attention_heads",
                                         "+model.num_kv_heads",
                                         "model.layernorm_epsilon",
                                         "model.data.data_prefix",
                                         "model.data.num_workers",
                                         "model.data.seq_length",
                                         "model.sequence_parallel",
                                         "model.wrap_with_zero",
                                         "model.activations_checkpoint_granularity",
                                         "model.activations_checkpoint_method",
                                         "model.activations_checkpoint_num_layers",
                                         "model.use_cpu_initialization",
                                         "exp_manager.create_tensorboard_logger",
                                         "exp_manager.resume_if_exists",
                                         "exp_manager.resume_ignore_no_checkpoint",
                                         "exp_manager.explicit_log_dir"};

targets::TrainCommand command_of(Target target, const models::Job& job, const char* strategy) {
  return targets::train_command(target, job, strategy_of(job, strategy));
}

std::string why_not(Target target, const models::Job& job, const char* strategy) {
  try {
    command_of(target, job, strategy);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

std::string value_of(const targets::TrainCommand& c, const std::string& flag) {
  const auto it = std::find(c.arguments.begin(), c.arguments.end(), flag);
  return it == c.arguments.end() ? "" : *(it + 1);
}

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

models::Job llama2(models::Precision precision) {
  models::Job job = job_of("llama2-7b", 4, 4096, 256);
  job.training.precision = precision;
  return job;
}

}  // namespace

TEST_CASE("the NxD script gets flags it has, each with a value", "[launch]") {
  const models::Job llama3 = job_of("llama3-70b", 16, 8192, 1024);
  for (const char* strategy : {"tp=32,pp=8,recompute=full", "tp=32,pp=8,recompute=CoreAttention"}) {
    const auto c = command_of(Target::nxd, llama3, strategy);
    REQUIRE(c.arguments.size() % 2 == 0);
    for (std::size_t i = 0; i < c.arguments.size(); i += 2) {
      INFO(c.arguments[i]);
      CHECK(kNxdFlags.contains(c.arguments[i]));
      CHECK_FALSE(c.arguments[i + 1].starts_with("--"));
    }
    // The script runs as many steps while graphs are collected as it is told, so that number varies.
    CHECK(value_of(c, "--max_steps") == "$steps");
    CHECK(c.steps == 10000);
    // Master weights in fp32 beside bf16: what mixed_precision means to NxDT's orchestrator.
    CHECK(has(c.environment, "XLA_DOWNCAST_BF16=1"));
    CHECK(has(c.environment, "NEURON_RT_STOCHASTIC_ROUNDING_EN=0"));
  }
}

TEST_CASE("the NeMo-Megatron script gets keys its config has", "[launch]") {
  for (const char* strategy :
       {"tp=8,flash=false,recompute=full", "tp=8,flash=false,recompute=CoreAttention"}) {
    const auto c = command_of(Target::nemo_megatron, llama2(models::Precision::bf16_sr), strategy);
    for (const std::string& word : c.arguments) {
      INFO(word);
      CHECK(kNemoKeys.contains(word.substr(0, word.find('='))));
      CHECK(word.find('=') != std::string::npos);
    }
    CHECK(has(c.arguments, "trainer.max_steps=$steps"));
    CHECK(has(c.environment, "XLA_USE_BF16=1"));
    CHECK(has(c.environment, "NEURON_RT_STOCHASTIC_ROUNDING_EN=1"));
  }
  // Its class names are its own: no recompute is no granularity.
  const auto none = command_of(Target::nemo_megatron, llama2(models::Precision::bf16_sr),
                               "tp=32,flash=false,recompute=none");
  CHECK(has(none.arguments, "model.activations_checkpoint_granularity=null"));
}

TEST_CASE("a precision that a target does not train in is refused", "[launch]") {
  const char* strategy = "tp=8,flash=false,recompute=full";
  CHECK(why_not(Target::nxd, llama2(models::Precision::mixed_precision), strategy).empty());
  CHECK(
      why_not(Target::nxd, llama2(models::Precision::bf16_sr), strategy).find("precision: mixed_precision") !=
      std::string::npos);
  CHECK(why_not(Target::nemo_megatron, llama2(models::Precision::mixed_precision), strategy)
            .find("precision: bf16SR") != std::string::npos);
  // Its selective recompute is that of attention: none at all cannot be said without flash attention.
  CHECK(why_not(Target::nxd, llama2(models::Precision::mixed_precision), "tp=32,flash=false,recompute=none")
            .find("pin recompute") != std::string::npos);
}
