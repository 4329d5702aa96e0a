#include "tests/api/start_breaks.h"

namespace trnplan {

const std::vector<Break>& toml_breaks() {
  static const std::string kPipelines = "parallelism.pipeline_parallel_";
  static const std::vector<Break> all = {
      {"batch", "training.global_batch_size", with({{"training.global_batch_size", "0"}})},
      {"batch", "training.global_batch_size",
       [](Start& s) {
         s.settings["training.local_batch_size"] = "4";
         s.settings["training.global_batch_size"] = "4001";
       }},
      {"divisibility", "parallelism.data_parallel_shard_degree",
       with({{"parallelism.data_parallel_shard_degree", "0"}})},
      {"divisibility", "parallelism.data_parallel_shard_degree",
       with({{"parallelism.data_parallel_shard_degree", "3"}})},
      {"divisibility", "parallelism.data_parallel_shard_degree",
       with({{"parallelism.tensor_parallel_degree", "5"}})},
      {"divisibility", "parallelism.data_parallel_replicate_degree",
       [](Start& s) {
         with({{"parallelism.tensor_parallel_degree", "2"},
               {"parallelism.pipeline_parallel_degree", "1"},
               {"parallelism.context_parallel_degree", "1"},
               {"parallelism.data_parallel_shard_degree", "1"}})(s);
         s.settings["parallelism.data_parallel_replicate_degree"] = std::to_string(s.ranks() / 2);
       }},
      {"value", "parallelism.tensor_parallel_degree", with({{"parallelism.tensor_parallel_degree", "0"}})},
      {"value", "parallelism.fsdp_reshard_after_forward",
       with({{"parallelism.fsdp_reshard_after_forward", "\"sometimes\""}})},
      {"value", "activation_checkpoint.mode", with({{"activation_checkpoint.mode", "\"op\""}})},
      {"value", "lr_scheduler.decay_type", with({{"lr_scheduler.decay_type", "\"cosin\""}})},
      {"value", "optimizer.name", with({{"optimizer.name", "\"SGD\""}})},
      {"value", "checkpoint.enable", with({{"checkpoint.enable", "\"yes\""}})},
      {"precision", "model.converters", with({{"model.converters", "\"float8\""}})},
      {"precision", "model.converters",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         with({{"model.converters", "[\"float8\"]"}})(s);
       },
       true},
      {"pipeline-schedule", "parallelism.pipeline_parallel_degree",
       [](Start& s) {
         with({{"model.name", "\"qwen3\""},
               {kPipelines + "degree", "2"},
               {kPipelines + "schedule", "\"1F1B\""}},
              {kPipelines + "layers_per_stage", kPipelines + "first_stage_less_layers",
               kPipelines + "last_stage_less_layers"})(s);
       }},
      {"precision", "model.converters",
       with({{"model.converters", "[\"quantize.linear.float8\", \"quantize.grouped_mm.mx\"]"}})},
      {"precision", "model.converters",
       [](Start& s) {
         s.instance = "p4de.24xlarge";
         s.settings["model.converters"] = "[\"quantize.linear.float8\"]";
       }},
      {"precision", "model.converters",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         s.settings["model.converters"] = "[\"quantize.linear.mx\"]";
       }},
      {"precision", "quantize.linear.float8.recipe_name",
       with({{"model.converters", "[\"quantize.linear.float8\"]"},
             {"quantize.linear.float8.recipe_name", "\"rowwise\""},
             {"quantize.linear.float8.enable_fsdp_float8_all_gather", "true"}})},
      {"compile", "parallelism.enable_async_tensor_parallel",
       [](Start& s) {
         with({{"parallelism.enable_async_tensor_parallel", "true"},
               {"parallelism.tensor_parallel_degree", "2"},
               {"compile.enable", "false"}})(s);
       }},
      {"recompute", "activation_checkpoint.mode",
       with({{"activation_checkpoint.mode", "\"memory_budget\""}, {"compile.enable", "false"}})},
      {"recompute", "activation_checkpoint.selective_ac_option",
       with({{"activation_checkpoint.mode", "\"selective\""},
             {"activation_checkpoint.selective_ac_option", "\"ops\""}})},
      {"checkpoint", "checkpoint.keep_latest_k",
       with({{"checkpoint.enable", "true"}, {"checkpoint.keep_latest_k", "1"}})},
      {"checkpoint", "checkpoint.initial_load_model_only",
       with({{"checkpoint.enable", "true"},
             {"checkpoint.initial_load_in_hf", "true"},
             {"checkpoint.initial_load_model_only", "false"}})},
      {"sequence-parallel", "training.seq_len", with({{"training.seq_len", "4095"}})},
      {"heads", "parallelism.tensor_parallel_degree", with({{"parallelism.tensor_parallel_degree", "16"}})},
      {"batch", "training.local_batch_size",
       with({{kPipelines + "degree", "2"},
             {kPipelines + "microbatch_size", "3"},
             {"training.local_batch_size", "4"}})},
      {"pipeline-schedule", "parallelism.pipeline_parallel_schedule",
       with({{kPipelines + "degree", "2"}, {kPipelines + "schedule", "\"2F2B\""}})},
      {"pipeline-schedule", "parallelism.pipeline_parallel_schedule",
       with({{kPipelines + "degree", "2"},
             {kPipelines + "schedule", "\"ZBVZeroBubble\""},
             {"compile.enable", "true"}})},
      {"layers", "parallelism.pipeline_parallel_layers_per_stage",
       with({{kPipelines + "degree", "2"},
             {kPipelines + "schedule", "\"1F1B\""},
             {kPipelines + "first_stage_less_layers", "0"},
             {kPipelines + "last_stage_less_layers", "0"},
             {kPipelines + "layers_per_stage", "8"}})},
      {"layers", "parallelism.pipeline_parallel_layers_per_stage",
       with({{kPipelines + "degree", "2"},
             {kPipelines + "schedule", "\"Interleaved1F1B\""},
             {kPipelines + "first_stage_less_layers", "0"},
             {kPipelines + "last_stage_less_layers", "0"},
             {kPipelines + "layers_per_stage", "11"}})},
      {"moe", "parallelism.expert_tensor_parallel_degree",
       with({{"parallelism.expert_parallel_degree", "2"},
             {"parallelism.expert_tensor_parallel_degree", "3"}})},
      {"optimizer", "optimizer.early_step_in_backward",
       with({{"optimizer.early_step_in_backward", "true"}, {kPipelines + "degree", "2"}})},
      {"context-parallel", "parallelism.context_parallel_load_balancer",
       with({{"parallelism.context_parallel_load_balancer", "\"\""}})},
  };
  return all;
}

/// It runs, but in FP32, or slower than what it asks for.
const std::vector<Break>& toml_doubts() {
  static const std::vector<Break> all = {
      {"precision", "parallelism.tensor_parallel_degree",
       [](Start& s) {
         s.nodes = 1;
         with({{"parallelism.tensor_parallel_degree", "8"},
               {"parallelism.pipeline_parallel_degree", "1"},
               {"parallelism.context_parallel_degree", "1"},
               {"parallelism.data_parallel_replicate_degree", "1"},
               {"parallelism.data_parallel_shard_degree", "-1"}},
              {"training.global_batch_size"})(s);
       }},
      {"compile", "model.converters",
       [](Start& s) {
         s.instance = "p5.48xlarge";
         with({{"model.converters", "[\"quantize.linear.float8\"]"}, {"compile.enable", "false"}})(s);
       }},
  };
  return all;
}

}  // namespace trnplan
