#include <fmt/format.h>

#include "targets/flags/flags.h"
#include "targets/flags/recipe.h"
#include "targets/nxd/scripts.h"

namespace trnplan::targets {

namespace {

constexpr std::string_view k7b =
    "aws-neuron/neuronx-distributed@fbac349:examples/training/llama/tp_zero1_llama_hf_pretrain, Llama-2 7B";
constexpr std::string_view k8b =
    "aws-neuron/neuronx-distributed@fbac349:examples/training/llama/tp_zero1_llama_hf_pretrain, Llama-3 8B";

/// Linear decay to nothing: there is no minimum.
constexpr Recipe kTensorRecipes[] = {
    {k7b, 6738415616., 10000, 3.0e-4, 0, 100, 0, 0.9, 0.999, 0.01, 0, {}, true, models::Decay::linear},
    {k8b, 8030261248., 10000, 1.5e-4, 0, 100, 0, 0.9, 0.999, 0.01, 0, {}, true, models::Decay::linear},
};

/// As the recipes export them; the script sets rounding and, without master weights, XLA's types by itself.
std::vector<std::string> environment(const models::Job& job) {
  const int in_flight = job.software.in_flight > 0 ? job.software.in_flight : 3;
  const int cores = job.cluster.instance.host_cores();
  std::vector<std::string> names = {"NEURON_CC_FLAGS=--model-type transformer", "NEURON_FUSE_SOFTMAX=1",
                                    fmt::format("{}={}", kInFlight, in_flight), "MALLOC_ARENA_MAX=64"};
  for (const char* name :
       {"NEURON_RT_NUM_CORES", "NUM_NEURONCORES", "TPU_NUM_DEVICES", "TPU_CHIPS_PER_HOST_BOUNDS"})
    names.push_back(fmt::format("{}={}", name, cores));
  return names;
}

}  // namespace

const Recipe& tensor_recipe(const models::Architecture& a) {
  return nearest_recipe(kTensorRecipes, a);
}

Learnable tensor_learnable() {
  Learnable can;
  can.schedule = models::Decay::linear;
  can.starts = {models::StartFrom::scratch, models::StartFrom::hf, models::StartFrom::checkpoint};
  can.logs_within = true;  // with fewer steps it ends in an IndexError
  return can;
}

planner::TrainCommand tensor_script(const models::Job& job, const models::Strategy& s) {
  const Recipe recipe = with_learning(tensor_recipe(job.architecture), job.learning);
  const bool grouped = job.architecture.grouped_queries();
  const bool masters = s.precision == models::Precision::mixed_precision;
  planner::TrainCommand c;
  c.steps = steps_of(job.training, recipe);
  c.compile_steps = 2;
  c.environment = environment(job);
  c.fixed.clear();
  c.port = 44000;
  c.python_path = "examples/training/llama";
  c.by_mode = {{"save_every", "-1", fmt::format("{}", saves_every(job.run, c.steps))}};
  Words w;
  w.flag("--model_path", "$plan").flag("--data_dir", "$TRNPLAN_DATA");
  w.count("--tensor_parallel_size", s.tensor_parallel);
  if (s.context_parallel > 1) w.count("--context_parallel_size", s.context_parallel);
  w.count("--batch_size", s.micro_batch);
  w.count("--grad_accum_usteps", models::micro_batches(job.training, s));
  w.count("--seq_len", job.training.sequence);
  w.count("--max_steps", c.steps).flag("--steps_this_run", "$steps");
  w.number("--lr", recipe.lr).count("--warmup_steps", warmup_of(recipe, job.learning, c.steps));
  w.number("--beta1", recipe.beta1).number("--beta2", recipe.beta2);
  w.number("--weight_decay", recipe.weight_decay);
  w.toggle("--sequence_parallel_enabled", s.sequence_parallel && s.tensor_parallel > 1);
  w.toggle("--selective_checkpoint_enabled", !s.recompute.full);
  w.truth("--use_flash_attention", s.flash_attention && s.context_parallel == 1);
  w.toggle("--qkv_linear", grouped);
  if (grouped) w.count("--kv_replicator", s.kv_replicator);
  if (grouped && !job.software.fuse_qkv) w.truth("--fuse_qkv", false);
  w.toggle("--use_mix_precision", masters).truth("--use_gpu_compatible_precision", masters);
  w.toggle("--use_zero_1", s.zero1);
  if (job.learning.seed) w.count("--seed", *job.learning.seed);
  w.count("--logging_interval", job.run.log_steps.value_or(1)).toggle("--print_grad_norm", true);
  w.flag("--checkpoint_dir", "$results").flag("--checkpoint_freq", "$save_every");
  w.count("--num_kept_checkpoint", job.run.checkpoints_kept.value_or(kKeptCheckpoints))
      .flag("--loading_step", "latest_if_exists");
  if (job.run.begins_with_weights()) c.weights_link = kWeightsTag;
  w.toggle("--pretrained_weight", job.run.begins_with_weights());
  w.flag("--output_dir", "$results/tensorboard").flag("--metrics_file", "$results/results.json");
  c.reserved_ports = {48620};  // tp_zero1_llama2_7b_hf_pretrain.sh
  c.arguments = w.take();
  c.remarks = {"The learning rate falls linearly to zero: the script has no other schedule and no minimum.",
               "A resumed run reads its epoch from the start again."};
  say_unused(job, {"requests_in_flight", "fuse_qkv"}, c.remarks);
  return c;
}

}  // namespace trnplan::targets
