#include "targets/nemo_megatron/nemo_megatron_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "targets/flags/flags.h"
#include "targets/flags/launch_line.h"
#include "targets/flags/recipe.h"
#include "targets/hf/nxd_preparation.h"
#include "targets/nemo_megatron/nemo_read.h"
#include "targets/nemo_megatron/nemo_rules.h"

namespace trnplan::targets {

namespace {

constexpr std::string_view kLlama =
    "aws-neuron/neuronx-nemo-megatron@f4743ce:nemo/examples/nlp/language_modeling/test_llama.sh";
constexpr std::string_view kGrouped =
    "aws-neuron/neuronx-nemo-megatron@f4743ce:nemo/examples/nlp/language_modeling/test_llama_gqa.sh";
constexpr std::string_view kPlainConfig = "megatron_llama_config", kLargeConfig = "megatron_llama_70b_config";

constexpr Recipe kRecipes[] = {
    {kLlama, 6738415616., 10000, 3e-4, 3e-5, 2000, 0, 0.9, 0.95, 0.1, 0.021, kPlainConfig},
    {kLlama, 13015864320., 400000, 3e-4, 3e-5, 2000, 0, 0.9, 0.95, 0.1, 0.02, kPlainConfig},
    {kGrouped, 68976648192., 20000, 3e-4, 3e-5, 2000, 0, 0.9, 0.95, 0.1, 0.02, kLargeConfig},
};

const char* word(bool value) {
  return value ? "True" : "False";
}

bool masters(const models::Strategy& s) {
  return s.precision == models::Precision::mixed_precision;
}

/// megatron_init.py of that repository.
void need_layout(const models::Job& job, const models::Strategy& s, std::vector<planner::Violation>& broken) {
  const int tp = s.tensor_parallel, dp = s.data_parallel;
  if (tp != 1 && tp != 8 && tp != 32)
    broken.push_back(target_lacks("TP must be 1, 8 or 32", "pin tensor_parallel in the job"));
  const bool replicas = dp == 1 || (tp == 1 ? dp == 8 || dp >= 32 : dp * tp >= 32);
  if (s.pipeline_parallel > 1 && !replicas) {
    broken.push_back(target_lacks(
        fmt::format("with PP {} and TP {} it refuses DP {}", s.pipeline_parallel, tp, dp),
        tp == 1 ? "choose nodes and PP that give DP 1, 8 or at least 32"
                : fmt::format("choose nodes and PP that give DP 1 or at least {}", (32 + tp - 1) / tp)));
  }
  const models::Architecture& a = job.architecture;
  if (a.kv_heads % tp != 0) {
    broken.push_back(
        target_lacks(fmt::format("{} key and value heads on TP {}: it does not copy them", a.kv_heads, tp),
                     "pin a tensor_parallel that divides them"));
  } else if (s.kv_replicator > 1) {
    broken.push_back(target_lacks("copies of key and value heads", "pin kv_replicator to 1 in the job"));
  }
  if (a.layers % s.pipeline_parallel != 0) {
    broken.push_back(target_lacks(fmt::format("{} layers on PP {}", a.layers, s.pipeline_parallel),
                                  "pin a pipeline_parallel that divides the layers"));
  }
  const int cores = job.cluster.instance.host_cores();
  if (cores != 1 && cores != 2 && cores != 8 && cores != 32) {
    broken.push_back(target_lacks(fmt::format("{} processes a node: it starts 1, 2, 8 or 32", cores),
                                  "use an instance type with one of these core counts"));
  }
}

void need_program(const models::Job& job, const models::Strategy& s,
                  std::vector<planner::Violation>& broken) {
  if (s.context_parallel > 1)
    broken.push_back(target_lacks("context parallel", "pin context_parallel to 1 in the job"));
  if (s.virtual_pipeline > 1) {
    broken.push_back(target_lacks("virtual pipeline, which it supports only in its own precision",
                                  "pin virtual_pipeline to 1 in the job"));
  }
  if (s.recompute.mlp && !s.recompute.full) {
    broken.push_back(target_lacks("it recomputes " + models::to_string(s.recompute),
                                  "pin recompute to CoreAttention, none or full in the job"));
  }
  if (!job.architecture.rope_scaling.empty()) {
    broken.push_back(target_lacks("scaled rotary frequencies (rope_scaling)",
                                  "train it with another target, or a model without them"));
  }
  if (s.precision != models::Precision::bf16_sr && !masters(s)) {
    broken.push_back(target_lacks(fmt::format("precision {}", models::to_string(s.precision)),
                                  "write precision: bf16SR or mixed_precision in the job"));
  } else if (masters(s) && !s.zero1) {
    broken.push_back(target_lacks("master weights without ZeRO-1",
                                  "pin zero1 to true, or write precision: bf16SR in the job"));
  }
  if (s.bucket_mb != models::Strategy{}.bucket_mb) {
    broken.push_back(target_lacks("ZeRO-1's buckets of another size", "leave bucket_mb out"));
  }
}

/// As train_setup.sh exports them for the precision modes bf16SR and fp32_ZeroOptMasterGradAcc.
/// --distribution-strategy=llm-training must not be used with flash attention
/// (aws-neuron/aws-neuron-sdk@81ce03ae release-notes of NxD Training 1.2).
std::vector<std::string> environment(const models::Job& job, const models::Strategy& s) {
  const int in_flight = job.software.in_flight > 0 ? job.software.in_flight : 5;
  const char* strategy = s.flash_attention ? "" : " --distribution-strategy=llm-training";
  return {fmt::format("NEURON_CC_FLAGS=--model-type transformer{} --enable-mixed-precision-accumulation",
                      strategy),
          "NEURON_FUSE_SOFTMAX=1",
          fmt::format("{}={}", kInFlight, in_flight),
          "NEURON_RT_EXEC_TIMEOUT=100",
          masters(s) ? "XLA_DOWNCAST_BF16=1" : "XLA_USE_BF16=1",
          fmt::format("NEURON_RT_STOCHASTIC_ROUNDING_EN={}", masters(s) ? 0 : 1),
          "NEURON_TRANSFER_WITH_STATIC_RING_OPS=",
          "TF_NUM_INTEROP_THREADS=1024",
          "XLA_THREAD_POOL_SIZE=4",
          "XLA_IO_THREAD_POOL_SIZE=4",
          "BUCKET_CAP_MB=1024",
          "HYDRA_FULL_ERROR=1",
          "MALLOC_ARENA_MAX=128"};
}

/// Overrides of the base config.
class Overrides {
 public:
  template <class Value>
  Overrides& put(std::string_view key, const Value& value) {
    words_.push_back(fmt::format("{}={}", key, value));
    return *this;
  }
  std::vector<std::string> take() { return std::move(words_); }

 private:
  std::vector<std::string> words_;
};

void put_trainer(Overrides& o, const models::Job& job) {
  o.put("trainer.devices", job.cluster.instance.host_cores()).put("trainer.num_nodes", job.cluster.hosts());
  o.put("trainer.max_epochs", "null").put("trainer.max_steps", "$steps");
  o.put("trainer.val_check_interval", "$steps")
      .put("trainer.log_every_n_steps", job.run.log_steps.value_or(1));
  o.put("trainer.limit_val_batches", 1).put("trainer.limit_test_batches", 1);
  o.put("trainer.accumulate_grad_batches", 1).put("trainer.precision", 32);
  o.put("+trainer.num_sanity_val_steps", 0);  // else a run begins with validation
  if (job.learning.gradient_clip) o.put("trainer.gradient_clip_val", *job.learning.gradient_clip);
  if (job.learning.seed) o.put("model.seed", *job.learning.seed);
}

void put_model(Overrides& o, const models::Job& job, const Recipe& recipe) {
  const models::Architecture& a = job.architecture;
  o.put("model.tokenizer.type", "$TRNPLAN_TOKENIZER");  // its vocabulary is that of the model
  o.put("model.max_position_embeddings", job.training.sequence);
  o.put("model.encoder_seq_length", job.training.sequence);
  o.put("model.data.data_prefix", "[1.0,$TRNPLAN_DATA]").put("model.data.num_workers", 1);
  o.put("model.data.seq_length", job.training.sequence);
  o.put("model.hidden_size", a.hidden).put("model.ffn_hidden_size", a.intermediate);
  o.put("model.num_layers", a.layers).put("model.num_attention_heads", a.heads);
  const bool large = recipe.base_config == kLargeConfig;  // contains the key
  if (large || a.grouped_queries()) o.put(large ? "model.num_kv_heads" : "+model.num_kv_heads", a.kv_heads);
  if (large && a.hidden / a.heads != 128) o.put("model.kv_channels", a.hidden / a.heads);
  o.put("model.init_method_std", a.initializer_range.value_or(recipe.init_std))
      .put("model.hidden_dropout", 0);
  o.put("model.layernorm_epsilon", a.rms_norm_eps);
  if (a.rope_theta != 10000) o.put("+model.position_freq_base", a.rope_theta);
  if (a.tied_embeddings) o.put("model.share_embeddings_and_output_weights", "True");
}

void put_strategy(Overrides& o, const models::Job& job, const models::Strategy& s, bool large) {
  o.put("model.micro_batch_size", s.micro_batch).put("model.global_batch_size", job.training.global_batch);
  o.put("model.tensor_model_parallel_size", s.tensor_parallel);
  o.put("model.pipeline_model_parallel_size", s.pipeline_parallel);
  o.put("model.sequence_parallel", word(s.sequence_parallel && s.tensor_parallel > 1));
  o.put("model.activations_checkpoint_granularity", s.recompute.full             ? "full"
                                                    : s.recompute.core_attention ? "selective"
                                                                                 : "null");
  o.put("model.activations_checkpoint_method", s.recompute.full ? "uniform" : "null");
  o.put("model.activations_checkpoint_num_layers", s.recompute.full ? "1" : "null");
  o.put("model.megatron_amp_O2", "False").put("model.wrap_with_zero", word(s.zero1));
  o.put("model.zero_use_master_weight", word(masters(s)));
  // The base config of large models lacks the key, which is False then.
  if (!large || masters(s))
    o.put(large ? "+model.zero_use_fp32_grad_accum" : "model.zero_use_fp32_grad_accum", word(masters(s)));
  o.put("+model.use_flash_attention", word(s.flash_attention)).put("model.use_cpu_initialization", "True");
}

void put_optimizer(Overrides& o, const models::Job& job, const Recipe& recipe, std::int64_t steps) {
  o.put("model.optim.name", "adamw").put("model.optim.lr", recipe.lr);
  o.put("model.optim.betas", fmt::format("[{},{}]", recipe.beta1, recipe.beta2));
  o.put("model.optim.weight_decay", recipe.weight_decay).put("model.optim.capturable", "True");
  o.put("model.optim.sched.name", "CosineAnnealing");
  o.put("model.optim.sched.warmup_steps", warmup_of(recipe, job.learning, steps));
  o.put("model.optim.sched.constant_steps", recipe.constant_steps);
  o.put("model.optim.sched.min_lr", recipe.min_lr);
}

/// Resumed from the newest in $results, or from scratch; the name of the file holds the data's position, so the
/// shipped one is kept.
void put_checkpoints(Overrides& o, const models::RunFiles& run, std::int64_t steps) {
  const std::string params = "exp_manager.checkpoint_callback_params.";
  o.put("+model.save_xser", "True").put("+model.load_xser", "True");
  o.put("exp_manager.create_tensorboard_logger", "$logging");
  o.put("exp_manager.create_checkpoint_callback", "$checkpoints");
  o.put("+" + params + "every_n_train_steps", saves_every(run, steps));
  o.put(params + "save_top_k", run.checkpoints_kept.value_or(kKeptCheckpoints))
      .put(params + "save_last", "False");
  o.put("exp_manager.resume_if_exists", "True").put("exp_manager.resume_ignore_no_checkpoint", "True");
  o.put("exp_manager.explicit_log_dir", "$results");
}

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
    need_llama(job, broken);
    need_plain_strategy(s, broken);
    need_program(job, s, broken);
    need_layout(job, s, broken);
    Learnable can;
    can.schedule = models::Decay::cosine;
    if (!s.zero1) can.clipping.reset();  // ZeRO-1 has a norm of its own, 1
    can.starts.push_back(models::StartFrom::checkpoint);
    need_learning(job, nearest_recipe(kRecipes, job.architecture), can, broken);
    return broken;
  }

  planner::TargetCode code() const override {
    return {"https://github.com/aws-neuron/neuronx-nemo-megatron", "nemo/examples/nlp/language_modeling",
            kNemoScript};
  }

  std::vector<planner::PersonValue> asked() const override {
    return {{"TRNPLAN_TOKENIZER",
             "A folder with the model's Hugging Face tokenizer, from which the vocabulary is taken.", true,
             &models::RunFiles::tokenizer}};
  }

  std::vector<planner::PersonValue> asked_for(const models::Job& job) const override {
    std::vector<planner::PersonValue> values = asked();
    ask_for_weights(job, values);
    return values;
  }

  planner::TrainCommand command(const models::Job& job, const models::Strategy& s) const override {
    const Recipe recipe = with_learning(nearest_recipe(kRecipes, job.architecture), job.learning);
    planner::TrainCommand c;
    c.steps = steps_of(job.training, recipe);
    c.compile_steps = 4;
    c.environment = environment(job, s);
    c.fixed.clear();
    c.compile_environment = {"NEURON_PARALLEL_COMPILE_DUMP_RESULTS=1"};
    c.by_mode = {{"logging", "False", "True"}, {"checkpoints", "False", "True"}};
    Overrides o;
    o.put("--config-path", "conf").put("--config-name", recipe.base_config);
    put_trainer(o, job);
    put_model(o, job, recipe);
    put_strategy(o, job, s, recipe.base_config == kLargeConfig);
    put_optimizer(o, job, recipe, c.steps);
    put_checkpoints(o, job.run, c.steps);
    c.arguments = o.take();
    if (job.run.begins_with_weights()) {
      c.again = {"checkpoints/*/*.ckpt", {"model.resume_from_checkpoint=$TRNPLAN_WEIGHTS"}, {}};
      c.remarks = {
          "TRNPLAN_WEIGHTS is the checkpoint's path without the folder of its tensor-parallel rank; the run "
          "goes on with its optimizer and its step."};
    }
    say_unused(job, {"requests_in_flight"}, c.remarks);
    return c;
  }

  std::optional<int> nodes_of(const planner::ConfigFile& file) const override { return launched_nodes(file); }

  std::vector<std::string_view> programs() const override { return {kNemoScript}; }

  std::optional<planner::RunReading> read_run(const planner::ConfigFile& file, int ranks,
                                              const models::Architecture*) const override {
    return nemo_reading(file, ranks);
  }

  std::vector<planner::StartFault> start_faults(const planner::ConfigFile& file,
                                                const topology::Cluster& cluster) const override {
    return nemo_start_faults(file, cluster);
  }

  std::string_view neuron_stack() const override { return "nemo-megatron"; }

  /// aws-neuron/neuronx-nemo-megatron@f4743ce: build.sh, nemo/scripts/nlp_language_modeling,
  /// nemo/examples/nlp/language_modeling/checkpoint_conversion. --pp_degree is 2 where nothing is said.
  planner::Preparation preparation(const models::Job& job, const models::Strategy& s) const override {
    planner::Preparation p;
    const std::string conversion =
        "\"$TRNPLAN_CODE/nemo/examples/nlp/language_modeling/checkpoint_conversion/";
    p.data = {
        "python3 \"$TRNPLAN_CODE/nemo/scripts/nlp_language_modeling/preprocess_data_for_megatron.py\" "
        "--input \"${TRNPLAN_TEXT:?a file with a line of JSON for each text}\" --json-keys=text "
        "--tokenizer-library=huggingface "
        "--tokenizer-type=\"${TRNPLAN_TOKENIZER:?fill in settings.env}\" --dataset-impl=mmap --output-prefix "
        "\"$plan/data\" "
        "--append-eod "
        "--need-pad-id --workers=32",
        "echo \"TRNPLAN_DATA is $plan/data_text_document\""};
    std::string degrees =
        fmt::format("--tp_degree {} --pp_degree {}", s.tensor_parallel, s.pipeline_parallel);
    if (s.virtual_pipeline > 1) degrees += fmt::format(" --vpp_degree {}", s.virtual_pipeline);
    if (!job.architecture.grouped_queries()) {
      p.from_hf = {"python3 " + conversion +
                   "convert_hf_checkpoint_to_nemo_llama.py\" --path_to_checkpoint \"$from\" --config_file "
                   "\"$plan/config.json\" --output_path \"$to\" " +
                   degrees + " --is_xser --step 0"};
    } else {
      p.remarks.emplace_back(
          "Models with grouped queries are converted by convert_hf_checkpoint_to_nemo_llama_70b.py.");
    }
    p.to_hf = {"python3 " + conversion +
               "convert_nemo_checkpoint_to_hf_llama.py\" --path_to_checkpoints \"$from\" --config_file "
               "\"$plan/config.json\" --output_path \"$to\" --is_xser --step \"${TRNPLAN_STEP:?the step of "
               "the checkpoint}\""};
    p.remarks.emplace_back(
        "Its build.sh makes the packages for PyTorch 1.13.1: follow its README for the environment.");
    return p;
  }
};

}  // namespace

const planner::Target& nemo_megatron() {
  static const NemoMegatron target;
  return target;
}

}  // namespace trnplan::targets
