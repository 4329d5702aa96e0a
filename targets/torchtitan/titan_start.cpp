// What TorchTitan's job config takes, and a file of settings as the rules of the start see it.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "targets/torchtitan/titan_plan.h"
#include "targets/torchtitan/titan_read.h"
#include "targets/torchtitan/titan_rules.h"
#include "text/document.h"
#include "text/log_lines.h"

namespace trnplan::targets {

namespace {

constexpr const char* kLaterFloat8 = "pytorch/torchtitan@b5bcd76:torchtitan/models/llama3/config_registry.py";

const std::vector<StartKey>& titan_start_keys() {
  using enum KeyKind;
  static const std::vector<StartKey> all = {
      {"parallelism.data_parallel_replicate_degree", whole, "1", "", 1},
      {"parallelism.data_parallel_shard_degree", whole, "-1", "", -1},
      {"parallelism.tensor_parallel_degree", whole, "1", "", 1},
      {"parallelism.context_parallel_degree", whole, "1", "", 1},
      {"parallelism.pipeline_parallel_degree", whole, "1", "", 1},
      {"parallelism.expert_parallel_degree", whole, "1", "", 1},
      {"parallelism.expert_tensor_parallel_degree", whole, "1", "", 1},
      {"parallelism.pipeline_parallel_microbatch_size", whole, "1", "", 1},
      {"parallelism.pipeline_parallel_first_stage_less_layers", whole, "1"},
      {"parallelism.pipeline_parallel_last_stage_less_layers", whole, "1"},
      {"parallelism.pipeline_parallel_layers_per_stage", whole, "", "", 1},
      {"parallelism.pipeline_parallel_schedule", text, "1F1B"},
      {"parallelism.enable_async_tensor_parallel", truth, "false"},
      {"parallelism.disable_loss_parallel", truth, "false"},
      {"parallelism.context_parallel_load_balancer", text, "headtail"},
      {"parallelism.fsdp_reshard_after_forward", text, "default", "default always never"},
      {"parallelism.context_parallel_rotate_method", text, "allgather", "allgather alltoall"},
      {"parallelism.expert_parallel_comm_backend", text, "standard", "standard deepep"},
      {"training.local_batch_size", whole, "8", "", 1},
      {"training.global_batch_size", whole, "-1", "", -kLargestSetting},
      {"training.seq_len", whole, "2048", "", 1},
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
  };
  return all;
}

void add_stated(const Node& node, const std::string& path, StatedByName& all) {
  for (const Node::Entry& e : node.entries) {
    const std::string key = path.empty() ? e.key : path + "." + e.key;
    if (e.value.is_map()) {
      add_stated(e.value, key, all);
      continue;
    }
    Stated& one = all[key];
    one.at = e.value.at;
    one.list = e.value.kind == Node::Kind::sequence;
    if (!one.list) one.values.push_back(e.value.scalar);
    for (const Node& item : e.value.items) one.values.push_back(item.scalar);
  }
}

/// Assignments of a module that no reader here follows, so that it would be read as another plan. Throws InputError.
void refuse_assignments(const planner::ConfigFile& file) {
  std::vector<Diagnostic> faults;
  std::istringstream in(file.text);
  bool within = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    within = within || line.starts_with("def trnplan");
    const std::size_t first = std::min(line.find_first_not_of(" \t"), line.size());
    const std::string_view text = std::string_view(line).substr(first);
    const std::size_t equals = text.find('=');
    if (!within || text.starts_with('#') || equals == std::string_view::npos || equals == 0) continue;
    const bool compares = text.substr(equals).starts_with("==") || text[equals - 1] == '!';
    const bool apart = blank(text[equals - 1]) || (equals + 1 < text.size() && blank(text[equals + 1]));
    if (!apart || compares || text.starts_with("config = shipped(") ||
        text.starts_with("config.model_spec = plain(") || text.starts_with("config.activation_checkpoint = "))
      continue;
    faults.push_back({{file.name, number, static_cast<int>(first) + 1},
                      std::string(trimmed(text.substr(0, equals))),
                      "an assignment that is not followed here",
                      "write put(config.SECTION, name=value), without blanks"});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

/// The module of a plan in FP8 ends where it is started.
std::optional<planner::StartFault> stop_of(const planner::ConfigFile& file) {
  std::istringstream in(file.text);
  int number = 0;
  for (std::string line; file.name.ends_with(".py") && std::getline(in, line);) {
    ++number;
    if (!titan_stops(line)) continue;
    planner::StartFault stop{"precision", "FP8 of the module", {}, kLaterFloat8, false, true};
    stop.what = {{file.name, number, 5},
                 "model_spec",
                 "FP8 is part of the model's spec since Python alone is read: this module ends at its start",
                 fmt::format("train {} with v0.2.2", kTitanToml)};
    return stop;
  }
  return std::nullopt;
}

StatedByName stated_in(const planner::ConfigFile& file) {
  StatedByName all;
  add_stated(titan_tree(file), "", all);
  return all;
}

}  // namespace

const StartTable& titan_start_table() {
  static const StartTable table{titan_start_keys(), titan_start_rules(), kTitanJobConfig};
  return table;
}

std::vector<planner::StartFault> titan_start_faults(const planner::ConfigFile& file,
                                                    const topology::Cluster& cluster) {
  if (file.name.ends_with(".py")) refuse_assignments(file);
  const Settings settings(stated_in(file), titan_start_keys());
  StartFacts facts;
  facts.ranks = cluster.cores();
  facts.core = cluster.instance.core;
  if (const TitanFlavor* size =
          titan_flavor_named(settings.text("model.name"), settings.text("model.flavor")))
    facts.model = size->model;
  std::vector<planner::StartFault> faults = start_faults(titan_start_table(), settings, facts, file.name);
  if (auto stop = stop_of(file)) faults.push_back(*std::move(stop));
  return faults;
}

planner::KeyPlace titan_place_of(const planner::ConfigFile& file, std::string_view rule) {
  static constexpr RuleKey kKeys[] = {
      {"batch", "training.global_batch_size"},
      {"layers", "parallelism.pipeline_parallel_layers_per_stage"},
      {"interleaved", "parallelism.pipeline_parallel_schedule"},
      {"pipeline-schedule", "parallelism.pipeline_parallel_schedule"},
      {"pipeline-parity", "parallelism.pipeline_parallel_degree"},
      {"context-parallel", "parallelism.context_parallel_degree"},
      {"flash-attention", "training.seq_len"},
      {"positions", "training.seq_len"},
      {"moe", "parallelism.expert_parallel_degree"},
      {"", "parallelism.tensor_parallel_degree"},
  };
  return place_of_rule(kKeys, rule, Settings(stated_in(file), titan_start_keys()), file.name);
}

}  // namespace trnplan::targets
