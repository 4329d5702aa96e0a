#include "targets/train/target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <utility>

namespace trnplan::targets {

namespace {

constexpr std::array<std::pair<std::string_view, Target>, 3> kNames = {
    {{"nxdt", Target::nxdt}, {"nemo-megatron", Target::nemo_megatron}, {"nxd", Target::nxd}}};

[[noreturn]] void refuse(Target t, const std::string& why) {
  throw std::invalid_argument(fmt::format("{} cannot express this plan: {}", to_string(t), why));
}

std::int64_t steps_of(const models::Training& t) {
  if (!(t.tokens > 0)) return 10000;  // as NxDT's shipped configs
  const double per_step = static_cast<double>(t.sequence) * t.global_batch;
  return static_cast<std::int64_t>(std::clamp(std::ceil(t.tokens / per_step), 1.0, 2e9));
}

TrainCommand nxdt_command() {
  return {
      "https://github.com/aws-neuron/neuronx-distributed-training",
      "examples",
      "training_orchestrator.py",
      {"--config-path=$plan", "--config-name=nxdt", "model.model_config=$plan/config.json",
       "data.train_dir=$TRNPLAN_DATA", "compiler_cache_url=$cache", "exp_manager.explicit_log_dir=$results"},
      0,
      {}};
}

/// What NxDT's orchestrator exports for the YAML this project emits, where a script of flags has no YAML.
std::vector<std::string> runtime_environment(const models::Strategy& s) {
  std::vector<std::string> names = {
      "NEURON_CC_FLAGS=--model-type transformer --enable-mixed-precision-accumulation",
      "NEURON_FUSE_SOFTMAX=1", "NEURON_RT_ASYNC_EXEC_MAX_INFLIGHT_REQUESTS=5", "NEURON_RT_EXEC_TIMEOUT=100"};
  const bool rounding = s.precision == models::Precision::bf16_sr;
  names.push_back(rounding ? "XLA_USE_BF16=1" : "XLA_DOWNCAST_BF16=1");
  names.push_back(fmt::format("NEURON_RT_STOCHASTIC_ROUNDING_EN={}", rounding ? 1 : 0));
  return names;
}

void refuse_precision(Target t, const models::Strategy& s, models::Precision wanted) {
  if (s.precision == wanted) return;
  refuse(t, fmt::format("precision {}; write precision: {} in the job", models::to_string(s.precision),
                        models::to_string(wanted)));
}

void refuse_what_flags_lack(Target t, const models::Job& job, const models::Strategy& s) {
  const models::Recompute& r = s.recompute;
  if (r.mlp || r.rms_norm || r.activation_multiply) {
    refuse(t, "it recomputes " + models::to_string(r) +
                  "; pin recompute to CoreAttention, none or full in the job");
  }
  if (s.context_parallel > 1) refuse(t, "context parallel; pin context_parallel to 1 in the job");
  if (s.virtual_pipeline > 1) refuse(t, "virtual pipeline; pin virtual_pipeline to 1 in the job");
  if (!s.pipeline_cuts.empty())
    refuse(t, "uneven pipeline cuts; pin a pipeline_parallel that divides the layers");
  const models::Architecture& a = job.architecture;
  if (a.family != models::Family::llama || a.experts > 0) refuse(t, "the model is no dense Llama");
}

/// One flag and its value.
void add(TrainCommand& c, std::string_view flag, std::string value) {
  c.arguments.push_back(std::string(flag));
  c.arguments.push_back(std::move(value));
}

TrainCommand nxd_command(const models::Job& job, const models::Strategy& s) {
  refuse_what_flags_lack(Target::nxd, job, s);
  if (!s.zero1) refuse(Target::nxd, "no ZeRO-1; pin zero1 to true in the job");
  if (s.tensor_parallel > 1 && !s.sequence_parallel) {
    refuse(Target::nxd, "no sequence parallel; pin sequence_parallel to true in the job");
  }
  refuse_precision(Target::nxd, s, models::Precision::mixed_precision);
  if (!s.recompute.full && !s.recompute.core_attention && !s.flash_attention) {
    refuse(Target::nxd, "no recompute; pin recompute to CoreAttention or full in the job");
  }
  TrainCommand c{"https://github.com/aws-neuron/neuronx-distributed",
                 "examples/training/llama/tp_pp_llama_hf_pretrain",
                 "run_llama_nxd.py",
                 {},
                 steps_of(job.training),
                 runtime_environment(s)};
  const int micro_batches = models::micro_batches(job.training, s);
  const bool grouped = job.architecture.kv_heads < job.architecture.heads;
  const auto whole = [](std::int64_t n) { return fmt::format("{}", n); };
  add(c, "--train_batch_size", whole(job.training.global_batch / s.data_parallel));
  add(c, "--use_meta_device_init", "1");
  add(c, "--training_dir", "$TRNPLAN_DATA");
  add(c, "--training_config", "$plan");
  add(c, "--max_steps", "$steps");
  add(c, "--seq_len", whole(job.training.sequence));
  add(c, "--pipeline_parallel_size", whole(s.pipeline_parallel));
  add(c, "--tensor_parallel_size", whole(s.tensor_parallel));
  add(c, "--num_microbatches", whole(micro_batches));
  add(c, "--lr", "0.000015");
  add(c, "--min_lr", "1e-06");
  add(c, "--beta1", "0.9");
  add(c, "--beta2", "0.95");
  add(c, "--weight_decay", "0.1");
  add(c, "--warmup_steps", whole(std::min<std::int64_t>(2000, c.steps / 5)));
  add(c, "--constant_steps", "0");
  add(c, "--use_zero1_optimizer", "1");
  add(c, "--use_selective_checkpoint", s.recompute.full ? "0" : "1");
  add(c, "--use_flash_attention", s.flash_attention ? "1" : "0");
  add(c, "--qkv_linear", grouped ? "1" : "0");
  add(c, "--kv_replicator", whole(grouped ? s.kv_replicator : 1));
  add(c, "--checkpoint_freq", "200");
  add(c, "--checkpoint_dir", "$results");
  add(c, "--num_kept_checkpoint", "2");
  add(c, "--loading_step", "latest_if_exists");
  add(c, "--tb_dir", "$results/tensorboard");
  return c;
}

TrainCommand nemo_command(const models::Job& job, const models::Strategy& s) {
  const Target t = Target::nemo_megatron;
  refuse_what_flags_lack(t, job, s);
  const int tp = s.tensor_parallel;
  if (tp != 1 && tp != 8 && tp != 32) refuse(t, "TP must be 1, 8 or 32; pin tensor_parallel in the job");
  if (s.flash_attention) refuse(t, "flash attention; pin flash_attention to false in the job");
  refuse_precision(t, s, models::Precision::bf16_sr);
  const models::Architecture& a = job.architecture;
  TrainCommand c{"https://github.com/aws-neuron/neuronx-nemo-megatron",
                 "nemo/examples/nlp/language_modeling",
                 "megatron_gpt_pretraining.py",
                 {"--config-path=conf", "--config-name=megatron_llama_config"},
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
  put("model.tensor_model_parallel_size", tp);
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

}  // namespace

std::string_view to_string(Target t) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const auto& n) { return n.second == t; })->first;
}

std::optional<Target> target_from(std::string_view text) {
  const auto it = std::find_if(kNames.begin(), kNames.end(), [&](const auto& n) { return n.first == text; });
  return it == kNames.end() ? std::nullopt : std::optional(it->second);
}

std::string support_note(Target t) {
  switch (t) {
    case Target::nxdt:
      return "Needs NxDT 1.6 or 1.7: stay on Neuron SDK 2.28 with PyTorch 2.9. NxDT is in maintenance since "
             "Neuron 2.30 and no longer supported from 2.32 on.";
    case Target::nxd:
      return "Needs NxD's training API: stay on Neuron SDK 2.28 with PyTorch 2.9. It is in maintenance since "
             "Neuron 2.30, like NxDT, which is no longer supported from 2.32 on.";
    case Target::nemo_megatron:
      return "Needs neuronx-nemo-megatron, last changed in December 2024; its successor NxDT is no longer "
             "supported from Neuron 2.32 on: use Neuron SDK 2.21 with PyTorch 2.1.";
  }
  return "";
}

TrainCommand train_command(Target target, const models::Job& job, const models::Strategy& strategy) {
  switch (target) {
    case Target::nxdt:
      return nxdt_command();
    case Target::nxd:
      return nxd_command(job, strategy);
    case Target::nemo_megatron:
      return nemo_command(job, strategy);
  }
  throw std::invalid_argument("unknown target");
}

}  // namespace trnplan::targets
