#include "targets/nemo_megatron/nemo_megatron_target.h"

#include <algorithm>
#include <set>

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;

namespace {

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

bool has(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

models::Job llama2() {
  models::Job job = job_of("llama2-7b", 4, 4096, 256);
  job.training.precision = models::Precision::bf16_sr;
  return job;
}

}  // namespace

TEST_CASE("the NeMo-Megatron script gets keys its config has", "[targets]") {
  const models::Job job = llama2();
  for (const char* strategy :
       {"tp=8,flash=false,recompute=full", "tp=8,flash=false,recompute=CoreAttention"}) {
    const auto c = targets::nemo_megatron().command(job, strategy_of(job, strategy));
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
  const auto none =
      targets::nemo_megatron().command(job, strategy_of(job, "tp=32,flash=false,recompute=none"));
  CHECK(has(none.arguments, "model.activations_checkpoint_granularity=null"));
}
