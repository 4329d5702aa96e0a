#include "targets/nemo_megatron/nemo_megatron_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "targets/flags/flags.h"

namespace trnplan::targets {

namespace {

class NemoMegatron : public planner::Target {
 public:
  std::string_view name() const override { return "nemo-megatron"; }
  std::string_view log_format() const override { return "nemo-megatron"; }

  std::string support() const override {
    return "Needs neuronx-nemo-megatron, last changed in December 2024; its successor NxDT is no longer "
           "supported from Neuron 2.32 on: use Neuron SDK 2.21 with PyTorch 2.1.";
  }

  std::vector<planner::Violation> violations(const models::Job& job,
                                             const models::Strategy& s) const override {
    std::vector<planner::Violation> broken;
    need_flags(job, s, broken);
    const int tp = s.tensor_parallel;
    if (tp != 1 && tp != 8 && tp != 32)
      broken.push_back(target_lacks("TP must be 1, 8 or 32", "pin tensor_parallel in the job"));
    if (s.flash_attention)
      broken.push_back(target_lacks("flash attention", "pin flash_attention to false in the job"));
    need_precision(s, models::Precision::bf16_sr, broken);
    return broken;
  }

  planner::TargetCode code() const override {
    return {"https://github.com/aws-neuron/neuronx-nemo-megatron", "nemo/examples/nlp/language_modeling",
            "megatron_gpt_pretraining.py"};
  }

  planner::TrainCommand command(const models::Job& job, const models::Strategy& s) const override {
    const models::Architecture& a = job.architecture;
    planner::TrainCommand c{{"--config-path=conf", "--config-name=megatron_llama_config"},
                            steps_of(job.training),
                            runtime_environment(s)};
    for (const char* variable : {"TF_NUM_INTEROP_THREADS=1024", "XLA_THREAD_POOL_SIZE=4",
                                 "XLA_IO_THREAD_POOL_SIZE=4", "BUCKET_CAP_MB=1024"}) {
      c.environment.emplace_back(variable);
    }
    const auto put = [&](std::string_view key, const auto& value) {
      c.arguments.push_back(fmt::format("{}={}", key, value));
    };
    put("trainer.devices", job.cluster.instance.cores());
    put("trainer.num_nodes", job.cluster.nodes);
    put("trainer.max_epochs", "null");
    put("trainer.max_steps", "$steps");
    put("trainer.val_check_interval", "$steps");
    put("trainer.log_every_n_steps", 1);
    put("trainer.limit_val_batches", 1);
    put("trainer.limit_test_batches", 1);
    put("trainer.accumulate_grad_batches", 1);
    put("trainer.precision", 32);
    put("model.tokenizer.type", "$plan");
    put("model.micro_batch_size", s.micro_batch);
    put("model.global_batch_size", job.training.global_batch);
    put("model.tensor_model_parallel_size", s.tensor_parallel);
    put("model.pipeline_model_parallel_size", s.pipeline_parallel);
    put("model.max_position_embeddings", std::max(a.max_positions, job.training.sequence));
    put("model.encoder_seq_length", job.training.sequence);
    put("model.hidden_size", a.hidden);
    put("model.ffn_hidden_size", a.intermediate);
    put("model.num_layers", a.layers);
    put("model.num_attention_heads", a.heads);
    if (a.kv_heads < a.heads) put("+model.num_kv_heads", a.kv_heads);
    put("model.layernorm_epsilon", a.rms_norm_eps);
    put("model.data.data_prefix", "[1.0,$TRNPLAN_DATA]");
    put("model.data.num_workers", 1);
    put("model.data.seq_length", job.training.sequence);
    put("model.sequence_parallel", s.sequence_parallel ? "True" : "False");
    put("model.wrap_with_zero", s.zero1 ? "True" : "False");
    put("model.activations_checkpoint_granularity", s.recompute.full             ? "full"
                                                    : s.recompute.core_attention ? "selective"
                                                                                 : "null");
    if (s.recompute.full) put("model.activations_checkpoint_method", "uniform");
    if (s.recompute.full) put("model.activations_checkpoint_num_layers", 1);
    put("model.use_cpu_initialization", "True");
    put("exp_manager.create_tensorboard_logger", "True");
    put("exp_manager.resume_if_exists", "True");
    put("exp_manager.resume_ignore_no_checkpoint", "True");
    put("exp_manager.explicit_log_dir", "$results");
    return c;
  }
};

}  // namespace

const planner::Target& nemo_megatron() {
  static const NemoMegatron target;
  return target;
}

}  // namespace trnplan::targets
