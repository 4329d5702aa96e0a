#include "targets/torchtitan/titan_keys.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>

#include "models/architecture/limits.h"
#include "models/job/limits.h"

namespace trnplan::targets {

namespace {

using models::model_limits, models::run_limits;
using enum KeyKind;

// Every key of pytorch/torchtitan@v0.2.2 torchtitan/config/job_config.py.

/// Keys that decide what is predicted, or that the framework checks: kinds, usual values, choices and bounds.
const std::vector<StartKey> kJudged = {
    {"parallelism.data_parallel_replicate_degree", whole, "1", "", 1, run_limits.ranks},
    {"parallelism.data_parallel_shard_degree", whole, "-1", "", -1, run_limits.ranks},
    {"parallelism.tensor_parallel_degree", whole, "1", "", 1, run_limits.ranks},
    {"parallelism.context_parallel_degree", whole, "1", "", 1, run_limits.ranks},
    {"parallelism.pipeline_parallel_degree", whole, "1", "", 1, run_limits.ranks},
    {"parallelism.expert_parallel_degree", whole, "1", "", 1, run_limits.ranks},
    {"parallelism.expert_tensor_parallel_degree", whole, "1", "", 1},
    {"parallelism.pipeline_parallel_microbatch_size", whole, "1", "", 1, run_limits.micro_batch},
    {"parallelism.pipeline_parallel_first_stage_less_layers", whole, "1", "", 0, model_limits.layers},
    {"parallelism.pipeline_parallel_last_stage_less_layers", whole, "1", "", 0, model_limits.layers},
    {"parallelism.pipeline_parallel_layers_per_stage", whole, "", "", 1, model_limits.layers},
    {"parallelism.pipeline_parallel_schedule", text, "1F1B"},
    {"parallelism.enable_async_tensor_parallel", truth, "false"},
    {"parallelism.disable_loss_parallel", truth, "false"},
    {"parallelism.context_parallel_load_balancer", text, "headtail"},
    {"parallelism.fsdp_reshard_after_forward", text, "default", "default always never"},
    {"parallelism.context_parallel_rotate_method", text, "allgather", "allgather alltoall"},
    {"parallelism.expert_parallel_comm_backend", text, "standard", "standard deepep"},
    {"training.local_batch_size", whole, "8", "", 1, run_limits.micro_batch},
    {"training.global_batch_size", whole, "-1", "", -kLargestSetting},
    {"training.seq_len", whole, "2048", "", 1, run_limits.sequence},
    {"training.steps", whole, "10000", "", 1},
    {"training.gc_freq", whole, "50", "", 1},
    {"training.max_norm", number, "1.0"},
    {"training.enable_cpu_offload", truth, "false"},
    {"training.dtype", text, "float32", "bfloat16 float32"},
    {"training.mixed_precision_param", text, "bfloat16", "bfloat16 float32"},
    {"training.mixed_precision_reduce", text, "float32", "float32"},
    {"model.name", text, "llama3"},
    {"optimizer.name", text, "AdamW", "Adam AdamW"},
    {"optimizer.lr", number, "8e-4"},
    {"optimizer.beta1", number, "0.9"},
    {"optimizer.beta2", number, "0.95"},
    {"optimizer.eps", number, "1e-8"},
    {"optimizer.weight_decay", number, "0.1"},
    {"optimizer.implementation", text, "fused", "for-loop foreach fused"},
    {"optimizer.early_step_in_backward", truth, "false"},
    {"lr_scheduler.warmup_steps", whole, "200"},
    {"lr_scheduler.total_steps", whole, "", "", 1},
    {"lr_scheduler.decay_ratio", number},
    {"lr_scheduler.decay_type", text, "linear", "linear sqrt cosine"},
    {"lr_scheduler.min_lr_factor", number, "0.0"},
    {"metrics.log_freq", whole, "10", "", 1},
    {"checkpoint.enable", truth, "false"},
    {"checkpoint.interval", whole, "500", "", 1},
    {"checkpoint.keep_latest_k", whole, "10"},
    {"checkpoint.initial_load_model_only", truth, "true"},
    {"checkpoint.initial_load_in_hf", truth, "false"},
    {"checkpoint.initial_load_in_hf_quantized", truth, "false"},
    {"checkpoint.export_dtype", text, "float32", "float16 bfloat16 float32"},
    {"checkpoint.async_mode", text, "disabled", "disabled async async_with_pinned_mem"},
    {"activation_checkpoint.mode", text, "selective", "selective full memory_budget none"},
    {"activation_checkpoint.selective_ac_option", text, "2"},
    {"compile.enable", truth, "false"},
    {"comm.mode", text, "default", "default fake_backend local_tensor"},
    {"quantize.linear.float8.enable_fsdp_float8_all_gather", truth, "false"},
    {"quantize.linear.float8.precompute_float8_dynamic_scale_for_fsdp", truth, "false"},
    {"quantize.linear.float8.emulate", truth, "false"},
    {"quantize.linear.float8.recipe_name", text, "", "tensorwise rowwise rowwise_with_gw_hp"},
    {"quantize.linear.mx.mxfp8_dim1_cast_kernel_choice", text, "triton", "triton cuda torch"},
    {"quantize.grouped_mm.mx.recipe_name", text, "mxfp8", "mxfp8"},
    {"compile.components", list},
    {"compile.backend", text, "inductor"},
    {"parallelism.module_fqns_per_model_part", list},
    {"quantize.linear.float8.filter_fqns", list},
    {"fault_tolerance.enable", truth, "false"},
    {"fault_tolerance.semi_sync_method", text},
};

/// The others, of which only the name is looked at.
struct Section {
  const char *name, *keys;
};
constexpr Section kOthers[] = {
    {"job", "config_file dump_folder description print_config save_config_file custom_config_module"},
    {"profiling",
     "enable_profiling save_traces_folder profile_freq profiler_active profiler_warmup "
     "enable_memory_snapshot save_memory_snapshot_folder"},
    {"metrics", "enable_tensorboard disable_color_printing save_tb_folder save_for_all_ranks enable_wandb"},
    {"model", "flavor hf_assets_path tokenizer_path converters print_after_conversion"},
    {"training", "dataset dataset_path gc_debug dataloader"},
    {"parallelism", "pipeline_parallel_schedule_csv pipeline_parallel_expert_parallel_overlap"},
    {"checkpoint",
     "enable_ft_dataloader_checkpoints folder initial_load_path last_save_model_only last_save_in_hf "
     "load_step exclude_from_loading enable_first_step_checkpoint create_seed_checkpoint load_only"},
    {"activation_checkpoint",
     "per_op_sac_force_recompute_mm_shapes_by_fqns early_stop memory_budget visualize_memory_budget_pareto "
     "preserve_rng_state determinism_check debug"},
    {"comm",
     "init_timeout_seconds train_timeout_seconds trace_buf_size save_traces_folder save_traces_file_prefix"},
    {"memory_estimation", "enable disable_fake_mode"},
    {"fault_tolerance", "process_group process_group_timeout_ms replica_id group_size min_replica_size"},
    {"experimental", "custom_import custom_args_module"},
    {"validation", "enable dataset dataset_path local_batch_size seq_len freq steps dataloader"},
    {"debug", "seed deterministic deterministic_warn_only moe_force_load_balance"},
};

/// Returns the one that may be meant; "" if the key is known, or near none.
std::string unknown(const Node::Entry& e, const std::string& key, const std::vector<std::string>& known,
                    std::vector<Diagnostic>& faults) {
  if (std::find(known.begin(), known.end(), e.key) != known.end()) return "";
  // Of a file that is of another kind altogether all keys are unknown, and no name near them means anything.
  constexpr std::size_t kMostNamed = 100;
  const std::string near = faults.size() < kMostNamed ? nearest(e.key, known) : "";
  faults.push_back({e.key_at, key, "TorchTitan v0.2.2 does not have this key and refuses the file",
                    near.empty() ? "remove it" : "write " + near});
  return near;
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

void add_stated(const Node& node, const std::string& path, StatedByName& all) {
  for (const Node::Entry& e : node.entries) {
    const std::string key = path.empty() ? e.key : path + "." + e.key;
    if (e.value.is_map()) {
      if (path.empty()) all[key].at = e.value.at;
      add_stated(e.value, key, all);
      continue;
    }
    const auto quoted = [](const Node& n) { return n.quoted; };
    Stated& one = all[key];
    one.at = e.value.at;
    one.list = e.value.kind == Node::Kind::sequence;
    one.quoted = one.list ? std::all_of(e.value.items.begin(), e.value.items.end(), quoted) : e.value.quoted;
    if (!one.list) one.values.push_back(e.value.scalar);
    for (const Node& item : e.value.items) one.values.push_back(item.scalar);
  }
}

}  // namespace

const std::vector<StartKey>& titan_keys() {
  static const std::vector<std::string> others = [] {
    std::vector<std::string> names;
    for (const Section& section : kOthers) {
      for (const std::string& key : split_words(section.keys))
        names.push_back(std::string(section.name) + "." + key);
    }
    return names;
  }();
  static const std::vector<StartKey> all = [] {
    std::vector<StartKey> keys = kJudged;
    for (const std::string& name : others) keys.push_back({name.c_str(), any});
    return keys;
  }();
  return all;
}

StatedByName titan_stated(const Node& root) {
  StatedByName all;
  add_stated(root, "", all);
  return all;
}

std::vector<std::string> check_titan_keys(const Node& root, std::vector<Diagnostic>& faults) {
  std::vector<std::string> meant;
  // Both levels that the program knows; settings of a converter lie deeper.
  std::map<std::string, std::vector<std::string>, std::less<>> known;
  for (const StartKey& k : titan_keys()) {
    const std::string_view name = k.name, key = name.substr(name.find('.') + 1);
    known[std::string(name.substr(0, name.find('.')))].emplace_back(key.substr(0, key.find('.')));
  }
  std::vector<std::string> sections;
  for (const auto& section : known) sections.push_back(section.first);
  for (const Node::Entry& section : root.entries) {
    if (known.contains(section.key) && !section.value.is_map())
      faults.push_back({section.value.at, section.key, "is a section, not a value",
                        "write its keys below [" + section.key + "]"});
  }
  const Node* custom = root.at_path("job.custom_config_module");
  const AddedKeys* added = nullptr;
  if (custom != nullptr && !custom->scalar.empty()) {
    added = std::find_if(std::begin(kAdded), std::end(kAdded),
                         [&](const AddedKeys& a) { return a.module == custom->scalar; });
    if (added == std::end(kAdded)) return meant;
  }
  if (added != nullptr) {
    for (std::string& more : split_words(added->keys)) known[added->section].push_back(std::move(more));
  }
  for (const Node::Entry& section : root.entries) {
    if (const std::string near = unknown(section, section.key, sections, faults); !near.empty()) {
      for (const StartKey& k : titan_keys()) {
        if (std::string_view(k.name).starts_with(near + ".")) meant.emplace_back(k.name);
      }
    }
    const auto keys = known.find(section.key);
    if (keys == known.end()) continue;
    for (const Node::Entry& e : section.value.entries) {
      const std::string name = section.key + "." + e.key;
      if (const std::string near = unknown(e, name, keys->second, faults); !near.empty())
        meant.push_back(section.key + "." + near);
      const auto same = [&](const StartKey& k) { return name == k.name; };
      if (e.value.is_map() && std::any_of(titan_keys().begin(), titan_keys().end(), same))
        faults.push_back({e.value.at, name, "is a section", "write a value"});
    }
  }
  return meant;
}

}  // namespace trnplan::targets
