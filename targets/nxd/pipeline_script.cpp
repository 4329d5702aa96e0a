#include <fmt/format.h>

#include "targets/flags/flags.h"
#include "targets/flags/recipe.h"
#include "targets/nxd/scripts.h"

namespace trnplan::targets {

namespace {

constexpr std::string_view kLlama2Small =
    "aws-neuron/neuronx-distributed@fbac349:examples/training/llama/tp_pp_llama_hf_pretrain, Llama-2 13B";
constexpr std::string_view kLlama2 =
    "aws-neuron/neuronx-distributed@fbac349:examples/training/llama/tp_pp_llama_hf_pretrain, Llama-2 70B";
constexpr std::string_view kLlama3 =
    "aws-neuron/neuronx-distributed@fbac349:examples/training/llama/tp_pp_llama_hf_pretrain, Llama-3 70B";

constexpr Recipe kPipelineRecipes[] = {
    {kLlama2Small, 13016028160., 30000, 1.5e-4, 1e-5, 2000, 0, 0.9, 0.95, 0.1, 0, {}, true},
    {kLlama2, 68976648192., 30000, 1.5e-4, 1e-5, 2000, 0, 0.9, 0.95, 0.1, 0, {}, false},
    {kLlama3, 70553706496., 30000, 1.5e-5, 1e-6, 2000, 0, 0.9, 0.95, 0.1, 0, {}, false},
};

/// As the recipes export them; the script sets rounding by itself.
std::vector<std::string> environment(const models::Job& job, const Recipe& recipe) {
  const int in_flight = job.software.in_flight > 0 ? job.software.in_flight : 7;
  std::vector<std::string> names = {"NEURON_CC_FLAGS=--model-type=transformer", "NEURON_FUSE_SOFTMAX=1",
                                    fmt::format("{}={}", kInFlight, in_flight), "MALLOC_ARENA_MAX=128",
                                    "XLA_DOWNCAST_BF16=1"};
  if (!recipe.functionalization) names.emplace_back("XLA_DISABLE_FUNCTIONALIZATION=0");
  return names;
}

}  // namespace

const Recipe& pipeline_recipe(const models::Architecture& a) {
  return nearest_recipe(kPipelineRecipes, a);
}

Learnable pipeline_learnable() {
  Learnable can;
  can.schedule = models::Decay::cosine;
  can.optimizers.emplace_back("adamw_fp32OptState");
  can.decay = Learnable::Fixed{0.01};
  can.starts = {models::StartFrom::scratch, models::StartFrom::hf, models::StartFrom::checkpoint};
  return can;
}

planner::TrainCommand pipeline_script(const models::Job& job, const models::Strategy& s) {
  const Recipe recipe = with_learning(pipeline_recipe(job.architecture), job.learning);
  const bool grouped = job.architecture.grouped_queries();
  const bool masters = s.precision == models::Precision::mixed_precision;
  planner::TrainCommand c;
  c.steps = steps_of(job.training, recipe);
  c.environment = environment(job, recipe);
  c.fixed.clear();
  c.port = 44000;
  c.python_path = "examples/training/llama";
  c.by_mode = {{"save_every", "-1", fmt::format("{}", saves_every(job.run, c.steps))}};
  Words w;
  w.count("--train_batch_size", job.training.global_batch / s.data_parallel);
  w.count("--num_microbatches", models::micro_batches(job.training, s));
  w.truth("--use_meta_device_init", true);
  w.flag("--training_dir", "$TRNPLAN_DATA").flag("--training_config", "$plan");
  w.flag("--max_steps", "$steps").count("--seq_len", job.training.sequence);
  w.count("--pipeline_parallel_size", s.pipeline_parallel);
  if (s.virtual_pipeline > 1) w.count("--virtual_pipeline_size", s.virtual_pipeline);
  w.count("--tensor_parallel_size", s.tensor_parallel);
  if (s.context_parallel > 1) w.count("--context_parallel_size", s.context_parallel);
  w.truth("--use_sequence_parallel", s.sequence_parallel && s.tensor_parallel > 1);
  w.number("--lr", recipe.lr).number("--min_lr", recipe.min_lr);
  w.number("--beta1", recipe.beta1).number("--beta2", recipe.beta2);
  w.number("--weight_decay", recipe.weight_decay);
  w.count("--warmup_steps", warmup_of(recipe, job.learning, c.steps))
      .count("--constant_steps", recipe.constant_steps);
  w.truth("--use_zero1_optimizer", s.zero1).truth("--use_gpu_compatible_precision", masters);
  w.truth("--use_selective_checkpoint", !s.recompute.full);
  w.truth("--use_flash_attention", s.flash_attention && s.context_parallel == 1);
  w.truth("--qkv_linear", grouped).count("--kv_replicator", grouped ? s.kv_replicator : 1);
  if (grouped && !job.software.fuse_qkv) w.truth("--fuse_qkv", false);
  if (job.learning.optimizer == "adamw_fp32OptState") w.truth("--use_fp32_optimizer", true);
  if (job.learning.seed) w.count("--seed", *job.learning.seed);
  if (job.run.log_steps) w.count("--logging_interval", *job.run.log_steps);
  w.count("--save_load_xser", 1);
  w.flag("--checkpoint_dir", "$results").flag("--checkpoint_freq", "$save_every");
  w.count("--num_kept_checkpoint", job.run.checkpoints_kept.value_or(kKeptCheckpoints))
      .flag("--loading_step", "latest_if_exists");
  if (job.run.begins_with_weights()) c.weights_link = kWeightsTag;
  if (job.run.start_from) w.truth("--pretrained_weight", job.run.begins_with_weights());
  w.flag("--tb_dir", "$results/tensorboard-$start").flag("--metrics_file", "$results/results.json");
  c.arguments = w.take();
  c.remarks = {
      "--weight_decay has no effect in this script: matrices decay by 0.01, biases and norms not at all.",
      "It empties --tb_dir when it starts, so every start has its own folder.",
      "A resumed run reads the batches that its epoch has already seen, one by one, before its first step."};
  say_unused(job, {"requests_in_flight", "fuse_qkv"}, c.remarks);
  return c;
}

}  // namespace trnplan::targets
