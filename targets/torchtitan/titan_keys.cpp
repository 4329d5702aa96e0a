#include "targets/torchtitan/titan_keys.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "targets/start/settings.h"

namespace trnplan::targets {

namespace {

/// Every key of pytorch/torchtitan@v0.2.2 torchtitan/config/job_config.py.
struct Section {
  const char *name, *keys;
};
constexpr Section kSections[] = {
    {"job", "config_file dump_folder description print_config save_config_file custom_config_module"},
    {"profiling",
     "enable_profiling save_traces_folder profile_freq profiler_active profiler_warmup "
     "enable_memory_snapshot save_memory_snapshot_folder"},
    {"metrics",
     "log_freq enable_tensorboard disable_color_printing save_tb_folder save_for_all_ranks enable_wandb"},
    {"model", "name flavor hf_assets_path tokenizer_path converters print_after_conversion"},
    {"optimizer", "name lr beta1 beta2 eps weight_decay implementation early_step_in_backward"},
    {"lr_scheduler", "warmup_steps total_steps decay_ratio decay_type min_lr_factor"},
    {"training",
     "dataset dataset_path local_batch_size global_batch_size seq_len max_norm steps enable_cpu_offload "
     "dtype "
     "mixed_precision_param mixed_precision_reduce gc_freq gc_debug dataloader"},
    {"parallelism",
     "data_parallel_replicate_degree data_parallel_shard_degree fsdp_reshard_after_forward "
     "tensor_parallel_degree "
     "disable_loss_parallel enable_async_tensor_parallel pipeline_parallel_degree module_fqns_per_model_part "
     "pipeline_parallel_first_stage_less_layers pipeline_parallel_last_stage_less_layers "
     "pipeline_parallel_layers_per_stage pipeline_parallel_schedule pipeline_parallel_schedule_csv "
     "pipeline_parallel_microbatch_size pipeline_parallel_expert_parallel_overlap context_parallel_degree "
     "context_parallel_load_balancer context_parallel_rotate_method expert_parallel_degree "
     "expert_tensor_parallel_degree expert_parallel_comm_backend"},
    {"checkpoint",
     "enable enable_ft_dataloader_checkpoints folder interval initial_load_path initial_load_model_only "
     "initial_load_in_hf initial_load_in_hf_quantized last_save_model_only last_save_in_hf export_dtype "
     "async_mode "
     "keep_latest_k load_step exclude_from_loading enable_first_step_checkpoint create_seed_checkpoint "
     "load_only"},
    {"activation_checkpoint",
     "mode selective_ac_option per_op_sac_force_recompute_mm_shapes_by_fqns early_stop memory_budget "
     "visualize_memory_budget_pareto preserve_rng_state determinism_check debug"},
    {"compile", "enable components backend"},
    {"quantize", "linear grouped_mm"},
    {"comm",
     "init_timeout_seconds train_timeout_seconds trace_buf_size save_traces_folder save_traces_file_prefix "
     "mode"},
    {"memory_estimation", "enable disable_fake_mode"},
    {"fault_tolerance",
     "enable process_group process_group_timeout_ms replica_id group_size min_replica_size "
     "semi_sync_method"},
    {"experimental", "custom_import custom_args_module"},
    {"validation", "enable dataset dataset_path local_batch_size seq_len freq steps dataloader"},
    {"debug", "seed deterministic deterministic_warn_only moe_force_load_balance"},
};

void unknown(const Node::Entry& e, const std::string& key, const std::vector<std::string>& known,
             std::vector<Diagnostic>& faults) {
  if (std::find(known.begin(), known.end(), e.key) != known.end()) return;
  // Of a file that is of another kind altogether all keys are unknown, and no name near them means anything.
  constexpr std::size_t kMostNamed = 100;
  const std::string near = faults.size() < kMostNamed ? nearest(e.key, known) : "";
  faults.push_back({e.key_at, key, "TorchTitan v0.2.2 has no such key and refuses the file",
                    near.empty() ? "remove it" : "write " + near});
}

/// Keys that a module named by job.custom_config_module adds: torchtitan/components/ft/config/job_config.py of v0.2.2.
struct AddedKeys {
  std::string_view module;
  const char *section, *keys;
};
constexpr AddedKeys kAdded[] = {
    {"torchtitan.components.ft.config", "fault_tolerance",
     "sync_steps should_quantize fragment_sync_delay fragment_update_alpha module_fqns_per_model_fragment "
     "num_fragments"}};

}  // namespace

void check_titan_keys(const Node& root, std::vector<Diagnostic>& faults) {
  const Node* custom = root.at_path("job.custom_config_module");
  const AddedKeys* added = nullptr;
  if (custom != nullptr && !custom->scalar.empty()) {
    added = std::find_if(std::begin(kAdded), std::end(kAdded),
                         [&](const AddedKeys& a) { return a.module == custom->scalar; });
    if (added == std::end(kAdded)) return;
  }
  std::vector<std::string> names;
  for (const Section& s : kSections) names.emplace_back(s.name);
  for (const Node::Entry& section : root.entries) {
    unknown(section, section.key, names, faults);
    for (const Section& s : kSections) {
      if (section.key != s.name) continue;
      std::vector<std::string> keys = split_words(s.keys);
      if (added != nullptr && section.key == added->section) {
        for (std::string& more : split_words(added->keys)) keys.push_back(std::move(more));
      }
      for (const Node::Entry& e : section.value.entries) unknown(e, section.key + "." + e.key, keys, faults);
    }
  }
}

}  // namespace trnplan::targets
