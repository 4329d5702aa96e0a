#include "targets/torchtitan/titan_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <sstream>

#include "models/architecture/limits.h"
#include "models/framework/framework.h"
#include "models/job/limits.h"
#include "targets/torchtitan/titan_plan.h"
#include "text/document.h"
#include "text/parse.h"
#include "units/product.h"

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

/// Whole numbers that are read: TorchTitan's own where one is left out, and what each may be. -1 stands for what is left.
struct Number {
  std::string_view key;
  int fallback, least, most;
};
using models::model_limits, models::run_limits;
constexpr Number kNumbers[] = {
    {"training.local_batch_size", 8, 1, run_limits.micro_batch},
    {"training.global_batch_size", -1, -1, run_limits.global_batch},
    {"training.seq_len", 2048, 1, run_limits.sequence},
    {"parallelism.tensor_parallel_degree", 1, 1, run_limits.ranks},
    {"parallelism.context_parallel_degree", 1, 1, run_limits.ranks},
    {"parallelism.pipeline_parallel_degree", 1, 1, run_limits.ranks},
    {"parallelism.expert_parallel_degree", 1, 1, run_limits.ranks},
    {"parallelism.data_parallel_replicate_degree", 1, 1, run_limits.ranks},
    {"parallelism.data_parallel_shard_degree", -1, -1, run_limits.ranks},
    {"parallelism.pipeline_parallel_microbatch_size", 1, 1, run_limits.micro_batch},
    {"parallelism.pipeline_parallel_first_stage_less_layers", 1, 0, model_limits.layers},
    {"parallelism.pipeline_parallel_last_stage_less_layers", 1, 0, model_limits.layers},
    {"parallelism.pipeline_parallel_layers_per_stage", 0, 1, model_limits.layers},
    {"checkpoint.keep_latest_k", 10, 0, 1'000'000},
};

const Number& number_named(std::string_view key) {
  return *std::find_if(std::begin(kNumbers), std::end(kNumbers),
                       [&](const Number& n) { return n.key == key; });
}

std::vector<std::string> words(const char* text) {
  std::istringstream in(text);
  std::vector<std::string> all;
  for (std::string word; in >> word;) all.push_back(word);
  return all;
}

void unknown(const Node::Entry& e, const std::string& key, const std::vector<std::string>& known,
             std::vector<Diagnostic>& faults) {
  if (std::find(known.begin(), known.end(), e.key) != known.end()) return;
  // Of a file that is of another kind altogether all keys are unknown, and no name near them means anything.
  constexpr std::size_t kMostNamed = 100;
  const std::string near = faults.size() < kMostNamed ? nearest(e.key, known) : "";
  faults.push_back({e.key_at, key, "TorchTitan v0.2.2 has no such key and refuses the file",
                    near.empty() ? "remove it" : "write " + near});
}

void check_keys(const Node& root, std::vector<Diagnostic>& faults) {
  std::vector<std::string> names;
  for (const Section& s : kSections) names.emplace_back(s.name);
  for (const Node::Entry& section : root.entries) {
    unknown(section, section.key, names, faults);
    for (const Section& s : kSections) {
      if (section.key != s.name) continue;
      const std::vector<std::string> keys = words(s.keys);
      for (const Node::Entry& e : section.value.entries) unknown(e, section.key + "." + e.key, keys, faults);
    }
  }
}

/// Values of the file, TorchTitan's own where a key is left out.
class Values {
 public:
  Values(const Node& root, std::vector<Diagnostic>& faults) : root_(root), faults_(faults) {}

  /// Requires: a key of kNumbers.
  int whole(const char* key) {
    const Number& bounds = number_named(key);
    const Node* node = root_.at_path(key);
    if (node == nullptr) return bounds.fallback;
    const auto number = number_of(*node);
    if (!number || *number < bounds.least || *number > bounds.most || *number != std::floor(*number)) {
      fault(*node, key,
            fmt::format("{} is no whole number from {} to {}", in_quotes(node->scalar), bounds.least,
                        bounds.most),
            fmt::format("write for example {}", std::max({1, bounds.least, bounds.fallback})));
      return bounds.fallback;
    }
    return static_cast<int>(*number);
  }
  std::string text(const char* key, const char* fallback) {
    const Node* node = root_.at_path(key);
    return node == nullptr ? fallback : node->scalar;
  }
  bool truth(const char* key) {
    const Node* node = root_.at_path(key);
    return node != nullptr && node->scalar == "true";
  }
  void fault(const Node& node, const char* key, std::string problem, std::string fix) {
    faults_.push_back({node.at, key, std::move(problem), std::move(fix)});
  }
  const Node& place(const char* key) const {
    const Node* node = root_.at_path(key);
    return node == nullptr ? root_ : *node;
  }

 private:
  const Node& root_;
  std::vector<Diagnostic>& faults_;
};

void read_precision(Values& v, const Node& root, planner::ConfigReading& r) {
  r.strategy.precision = models::Precision::mixed_precision;
  if (const Node* converters = root.at_path("model.converters")) {
    if (converters->kind == Node::Kind::scalar) r.not_modelled.emplace_back("converters as a text");
    for (const Node& item : converters->items) {
      if (item.scalar == kTitanFloat8) {
        r.strategy.precision = models::Precision::fp8;
      } else {
        r.not_modelled.push_back("the converter " + printable(item.scalar));
      }
    }
  }
  if (v.text("training.mixed_precision_param", "bfloat16") != "bfloat16")
    r.not_modelled.emplace_back("mixed_precision_param other than bfloat16");
  if (v.truth("training.enable_cpu_offload")) r.not_modelled.emplace_back("CPU offload");
  if (v.truth("parallelism.enable_async_tensor_parallel")) r.not_modelled.emplace_back("asynchronous TP");
}

void read_recompute(Values& v, planner::ConfigReading& r) {
  const std::string mode = v.text("activation_checkpoint.mode", "selective");
  const std::string option = v.text("activation_checkpoint.selective_ac_option", "2");
  if (mode == "full") {
    r.strategy.recompute.full = true;
  } else if (mode == "selective" && option == "op") {
    r.strategy.recompute.alternate = true;
  } else if (mode == "selective") {
    const auto every = parse_whole(option);
    if (!every || *every < 1 || *every > model_limits.layers) {
      v.fault(v.place("activation_checkpoint.selective_ac_option"),
              "activation_checkpoint.selective_ac_option",
              fmt::format("{} is neither op nor a number of layers from 1 to {}", in_quotes(option),
                          model_limits.layers),
              "write \"op\", or \"2\" to recompute every second layer");
      return;
    }
    r.strategy.recompute = {.full = true, .every = *every};
  } else if (mode != "none") {
    r.not_modelled.push_back("recompute by " + printable(mode, 40));
  }
}

/// Layers of each stage: as many as others, less what the first and the last have less.
void read_stages(Values& v, int layers, planner::ConfigReading& r) {
  models::Strategy& s = r.strategy;
  if (s.pipeline_parallel == 1) return;
  const std::string schedule = v.text("parallelism.pipeline_parallel_schedule", "1F1B");
  const bool interleaved = schedule == "Interleaved1F1B";
  if (schedule == "GPipe") {
    s.schedule = models::Schedule::gpipe;
  } else if (interleaved) {
    s.schedule = models::Schedule::interleaved;
  } else if (schedule != "1F1B") {
    r.not_modelled.push_back("the schedule " + printable(schedule, 40));
  }
  const int first = v.whole("parallelism.pipeline_parallel_first_stage_less_layers");
  const int last = v.whole("parallelism.pipeline_parallel_last_stage_less_layers");
  const int whole = layers + first + last;
  const int each = v.whole("parallelism.pipeline_parallel_layers_per_stage");
  const int stages = each > 0 ? (whole + each - 1) / each : s.pipeline_parallel * (interleaved ? 2 : 1);
  s.virtual_pipeline = std::max(1, stages / s.pipeline_parallel);
  if (stages % s.pipeline_parallel != 0 || stages > layers) {
    v.fault(v.place("parallelism.pipeline_parallel_layers_per_stage"),
            "parallelism.pipeline_parallel_layers_per_stage",
            fmt::format("{} stages on PP {}", stages, s.pipeline_parallel),
            "choose layers that make a multiple of the degree");
    return;
  }
  if (first == last && first == 0 && layers % stages == 0) return;
  if (s.virtual_pipeline > 1) {
    r.not_modelled.emplace_back("chunks of different sizes");
    return;
  }
  int end = 0;
  for (int i = 0; i < stages; ++i) {
    const int own =
        whole / stages + (i < whole % stages ? 1 : 0) - (i == 0 ? first : 0) - (i + 1 == stages ? last : 0);
    if (own < 1) {
      const char* key = i == 0 ? "parallelism.pipeline_parallel_first_stage_less_layers"
                               : "parallelism.pipeline_parallel_last_stage_less_layers";
      v.fault(v.place(key), key, fmt::format("leaves no layer to stage {} of {}", i + 1, stages),
              "write a smaller number");
      return;
    }
    end += own;
    if (i + 1 < stages) s.pipeline_cuts.push_back(end - 1);
  }
}

void read_mesh(Values& v, int ranks, planner::ConfigReading& r) {
  models::Strategy& s = r.strategy;
  s.tensor_parallel = v.whole("parallelism.tensor_parallel_degree");
  s.context_parallel = v.whole("parallelism.context_parallel_degree");
  s.pipeline_parallel = v.whole("parallelism.pipeline_parallel_degree");
  s.sequence_parallel = s.tensor_parallel > 1;
  if (v.whole("parallelism.expert_parallel_degree") > 1) r.not_modelled.emplace_back("expert parallel");
  const int replicate = v.whole("parallelism.data_parallel_replicate_degree");
  int shard = v.whole("parallelism.data_parallel_shard_degree");
  const std::int64_t rest = saturating_product({s.model_parallel(), replicate});
  const bool stated = shard >= 1;
  if (!stated) {
    const char* key = "parallelism.data_parallel_shard_degree";
    if (ranks == 0 || ranks % rest != 0) {
      v.fault(v.place(key), key,
              ranks == 0 ? "takes what is left, and the number of ranks is not known"
                         : fmt::format("{} ranks are no multiple of the other degrees, {}", ranks, rest),
              ranks == 0 ? "write the degree, or name --instance and --nodes" : "fix the degrees or --nodes");
      shard = 1;
    } else {
      shard = static_cast<int>(ranks / rest);
    }
  }
  const std::int64_t made = saturating_product({rest, shard});
  if (made > run_limits.ranks) {
    v.fault(v.place("parallelism"), "parallelism",
            fmt::format("the degrees make {} ranks, more than {}", made, run_limits.ranks),
            "write smaller degrees");
    return;
  }
  if (ranks > 0 && made != ranks && stated) {
    v.fault(v.place("parallelism"), "parallelism",
            fmt::format("the degrees make {} ranks, the cluster has {}", made, ranks),
            "fix the degrees, or leave data_parallel_shard_degree at -1");
  }
  s.data_parallel = replicate * shard;
  s.zero1 = replicate == 1 || shard * s.context_parallel > 1;
  if (s.zero1 && replicate > 1) s.shard_ranks = shard * s.context_parallel;
  s.sharding = v.text("parallelism.fsdp_reshard_after_forward", "default") == "never"
                   ? models::Sharding::gradients
                   : models::Sharding::parameters;
  r.ranks_per_node = static_cast<int>(made);
}

void read_batch(Values& v, planner::ConfigReading& r) {
  models::Strategy& s = r.strategy;
  const int local = v.whole("training.local_batch_size");
  const int global = v.whole("training.global_batch_size");
  r.training.sequence = v.whole("training.seq_len");
  s.micro_batch = s.pipeline_parallel > 1 ? v.whole("parallelism.pipeline_parallel_microbatch_size") : local;
  const std::int64_t slice = saturating_product({local, s.data_parallel});
  r.training.global_batch =
      global < 1 ? static_cast<int>(std::min<std::int64_t>(slice, run_limits.global_batch)) : global;
  if (global < 1 && slice > run_limits.global_batch) {
    v.fault(v.place("training.local_batch_size"), "training.local_batch_size",
            fmt::format("{} on each of {} ranks are {} sequences a step, more than {}", local,
                        s.data_parallel, slice, run_limits.global_batch),
            "write fewer");
  } else if (r.training.global_batch % slice != 0) {
    v.fault(v.place("training.global_batch_size"), "training.global_batch_size",
            fmt::format("{} is no multiple of {} sequences on each of {} ranks", r.training.global_batch,
                        local, s.data_parallel),
            fmt::format("write {}", (r.training.global_batch / slice + 1) * slice));
  } else if (s.pipeline_parallel > 1 && r.training.global_batch != slice) {
    r.not_modelled.emplace_back("several pipelines' worth of micro-batches a step");
  }
  if (s.pipeline_parallel > 1 && local % s.micro_batch != 0) {
    v.fault(v.place("training.local_batch_size"), "training.local_batch_size",
            fmt::format("{} is no multiple of the micro-batch of {}", local, s.micro_batch),
            "fix one of the two");
  }
  const std::int64_t pieces = titan_pieces(s.tensor_parallel, s.context_parallel);
  if (r.training.sequence % pieces != 0) {
    v.fault(v.place("training.seq_len"), "training.seq_len",
            fmt::format("{} tokens are cut into {} pieces", r.training.sequence, pieces),
            fmt::format("write a multiple of {}", pieces));
  }
}

}  // namespace

bool looks_like_titan(const Node& root) {
  const Node *model = root.find("model"), *training = root.find("training");
  return model != nullptr && model->is_map() && model->find("flavor") != nullptr && training != nullptr &&
         training->is_map();
}

planner::ConfigReading titan_reading(const Node& root, const models::Architecture& a, int ranks) {
  std::vector<Diagnostic> faults;
  check_keys(root, faults);
  Values v(root, faults);
  planner::ConfigReading r;
  r.strategy.framework = models::stated_framework("fsdp");
  r.strategy.flash_attention = true;
  read_mesh(v, ranks, r);
  r.strategy.kv_replicator = std::max(1, r.strategy.tensor_parallel / std::max(1, a.kv_heads));
  read_stages(v, a.layers, r);
  read_batch(v, r);
  read_recompute(v, r);
  read_precision(v, root, r);
  r.training.precision = r.strategy.precision;
  r.software.framework = "torchtitan";
  if (v.whole("checkpoint.keep_latest_k") == 1) {
    v.fault(v.place("checkpoint.keep_latest_k"), "checkpoint.keep_latest_k",
            "a single checkpoint cannot be kept", "write 2 or more");
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return r;
}

namespace {

/// A tree of sections and their scalars, of which the last of a name counts. Linear in what is set.
class ModuleSettings {
 public:
  explicit ModuleSettings(const SourcePos& at) {
    root_.kind = Node::Kind::map;
    root_.at = at;
  }

  void set(const std::string& section, const std::string& key, std::string value, const SourcePos& at) {
    Node made;
    made.kind = Node::Kind::map;
    made.at = at;
    Node& table = place(root_, "", section, std::move(made));
    Node leaf;
    leaf.kind = Node::Kind::scalar;
    leaf.at = at;
    Node& kept = place(table, section, key, std::move(leaf));
    kept.at = at;
    kept.scalar = std::move(value);
  }
  Node take() { return std::move(root_); }

 private:
  /// The value of that key of `map`, which stands in `section`; `made` where it is new. Throws InputError.
  Node& place(Node& map, const std::string& section, const std::string& key, Node made) {
    const auto [found, fresh] = index_.emplace(std::pair(section, key), map.entries.size());
    if (fresh) {
      if (index_.size() > DocumentLimits{}.nodes)
        throw InputError(
            {made.at, "", "the module has too many settings", "give the one of a plan's folder"});
      map.entries.push_back({key, made.at, std::move(made)});
    }
    return map.entries[found->second].value;
  }

  Node root_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;  // of section and key
};

/// A module's settings, name = value within config.SECTION, as a TOML would have them. Tokens become sequences.
Node tree_of_module(const planner::ConfigFile& file) {
  ModuleSettings settings({file.name, 1, 1});
  std::istringstream in(file.text);
  std::string section;
  int number = 0;
  bool within = false;
  for (std::string line; std::getline(in, line);) {
    const SourcePos at{file.name, ++number, 1};
    within = within || line.starts_with("def trnplan");
    if (!within) continue;
    const std::string text(
        line.begin() + static_cast<std::ptrdiff_t>(std::min(line.find_first_not_of(" \t"), line.size())),
        line.end());
    const auto between = [&](const std::string& mark, const char* ends) {
      const std::size_t from = text.find(mark);
      return from == std::string::npos
                 ? std::string()
                 : text.substr(from + mark.size(),
                               text.find_first_of(ends, from + mark.size()) - from - mark.size());
    };
    if (const std::string found = between("config.", ",. )="); !found.empty()) section = found;
    if (const std::string function = between("config = shipped(\"", "\""); !function.empty()) {
      const std::size_t size = function.find('_');
      std::string flavor = size == std::string::npos ? "" : function.substr(size + 1);
      std::transform(flavor.begin(), flavor.end(), flavor.begin(), [](char c) { return c == 'b' ? 'B' : c; });
      settings.set("model", "name", "llama3", at);
      settings.set("model", "flavor", flavor, at);
    }
    if (text.starts_with("config.activation_checkpoint = ")) {
      const bool none = text.find("= None") != std::string::npos,
                 full = text.find("70b") != std::string::npos;
      settings.set("activation_checkpoint", "mode", none ? "none" : full ? "full" : "selective", at);
      settings.set("activation_checkpoint", "selective_ac_option", "op", at);
      continue;
    }
    // What ends at another = is no value of a setting; so no part of a line is looked at twice.
    for (std::size_t from = 0; (from = text.find('=', from)) != std::string::npos; ++from) {
      std::size_t name = from;
      while (name > 0 &&
             (std::isalnum(static_cast<unsigned char>(text[name - 1])) != 0 || text[name - 1] == '_'))
        --name;
      const std::size_t end = std::min(text.find_first_of(",)=", from + 1), text.size());
      if (end < text.size() && text[end] == '=') continue;
      std::string value = text.substr(from + 1, end - from - 1);
      std::erase(value, '"');
      const std::string key = text.substr(name, from - name);
      if (!section.empty() && !key.empty() && !value.empty() && value.front() != '=' &&
          value.front() != ' ' && value.front() != '(')
        settings.set(section, key, value == "True" ? "true" : value == "False" ? "false" : value, at);
    }
  }
  return settings.take();
}

/// Keys of the revision that counts tokens, which the module states beside those in sequences.
void drop_tokens(Node& root) {
  for (Node::Entry& section : root.entries) {
    std::erase_if(section.value.entries, [](const Node::Entry& e) {
      return e.key.starts_with("num_tokens_") || e.key == "max_context_length" ||
             e.key == "disable_cuda_graphs" || e.key == "num_pp_microbatches";
    });
  }
  std::erase_if(root.entries, [](const Node::Entry& e) { return e.value.entries.empty(); });
}

}  // namespace

Node titan_tree(const planner::ConfigFile& file) {
  if (!file.name.ends_with(".py")) return parse_document(file.text, file.name);
  Node root = tree_of_module(file);
  drop_tokens(root);
  return root;
}

planner::RunReading titan_run_reading(const planner::ConfigFile& file, int ranks) {
  const bool module = file.name.ends_with(".py");
  const Node root = titan_tree(file);
  if (!looks_like_titan(root)) {
    throw InputError({{file.name, 0, 0},
                      "",
                      "this is no config of TorchTitan: it has no model with a flavor, or no training",
                      module ? "give the module of a plan's folder, or a TOML of v0.2.2"
                             : "give a TOML that torchtitan.train reads"});
  }
  const Node* flavor = root.at_path("model.flavor");
  const Node* family = root.at_path("model.name");
  const TitanFlavor* size = titan_flavor_named(flavor->scalar);
  if (size == nullptr || (family != nullptr && family->scalar != "llama3")) {
    throw InputError({flavor->at, "model.flavor",
                      in_quotes(flavor->scalar) + " is no size of llama3 that is known here",
                      "use 8B, 70B or 405B"});
  }
  planner::RunReading run;
  run.architecture = size->model;
  run.architecture.name = "llama3-" + std::string(size->name);
  run.architecture.max_positions = 131072;
  run.config = titan_reading(root, run.architecture, ranks);
  return run;
}

}  // namespace trnplan::targets
