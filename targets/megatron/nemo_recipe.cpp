#include "targets/megatron/nemo_recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <string_view>

#include "text/log_lines.h"
#include "topology/instance.h"

namespace trnplan::targets {

namespace {

enum class As {
  value,    ///< after the flag
  truth,    ///< the flag, if true
  untruth,  ///< the flag, if false
};

/// Flag of each key. Keys of NeMo 1: aws/sagemaker-hyperpod-recipes@ffaa5bb
/// recipes_collection/recipes/training/llama/megatron_llama3_1_8b_nemo.yaml; of NeMo 2: @2631995
/// recipes_collection/recipes/training/llama/checkpointless_llama3_70b_pretrain.yaml. The virtual size of
/// both counts the stages of a rank.
struct Key {
  const char *key, *flag;
  As as = As::value;
};
constexpr Key kKeys[] = {
    {"model.micro_batch_size", "--micro-batch-size"},
    {"model.global_batch_size", "--global-batch-size"},
    {"model.tensor_model_parallel_size", "--tensor-model-parallel-size"},
    {"model.pipeline_model_parallel_size", "--pipeline-model-parallel-size"},
    {"model.virtual_pipeline_model_parallel_size", "--num-virtual-stages-per-pipeline-rank"},
    {"model.context_parallel_size", "--context-parallel-size"},
    {"model.expert_model_parallel_size", "--expert-model-parallel-size"},
    {"model.expert_tensor_parallel_size", "--expert-tensor-parallel-size"},
    {"model.sequence_parallel", "--sequence-parallel", As::truth},
    {"model.encoder_seq_length", "--seq-length"},
    {"model.max_position_embeddings", "--max-position-embeddings"},
    {"model.num_layers", "--num-layers"},
    {"model.hidden_size", "--hidden-size"},
    {"model.ffn_hidden_size", "--ffn-hidden-size"},
    {"model.num_attention_heads", "--num-attention-heads"},
    {"model.num_query_groups", "--num-query-groups"},
    {"model.kv_channels", "--kv-channels"},
    {"model.attention_dropout", "--attention-dropout"},
    {"model.layernorm_epsilon", "--norm-epsilon"},
    {"model.bias", "--disable-bias-linear", As::untruth},
    {"model.position_embedding_type", "--position-embedding-type"},
    {"model.rotary_base", "--rotary-base"},
    {"model.share_embeddings_and_output_weights", "--untie-embeddings-and-output-weights", As::untruth},
    {"model.vocab_size", "--vocab-size"},
    {"model.override_vocab_size", "--vocab-size"},
    {"model.num_moe_experts", "--num-experts"},
    {"model.moe_router_topk", "--moe-router-topk"},
    {"model.activations_checkpoint_granularity", "--recompute-granularity"},
    {"model.activations_checkpoint_method", "--recompute-method"},
    {"model.activations_checkpoint_num_layers", "--recompute-num-layers"},
    {"model.ub_tp_comm_overlap", "--tp-comm-overlap", As::truth},
    {"data.micro_batch_size", "--micro-batch-size"},
    {"data.global_batch_size", "--global-batch-size"},
    {"data.seq_length", "--seq-length"},
    {"strategy.tensor_model_parallel_size", "--tensor-model-parallel-size"},
    {"strategy.pipeline_model_parallel_size", "--pipeline-model-parallel-size"},
    {"strategy.virtual_pipeline_model_parallel_size", "--num-virtual-stages-per-pipeline-rank"},
    {"strategy.context_parallel_size", "--context-parallel-size"},
    {"strategy.expert_model_parallel_size", "--expert-model-parallel-size"},
    {"strategy.expert_tensor_parallel_size", "--expert-tensor-parallel-size"},
    {"strategy.sequence_parallel", "--sequence-parallel", As::truth},
    {"strategy.num_distributed_optimizer_instances", "--num-distributed-optimizer-instances"},
    {"model.config.recompute_granularity", "--recompute-granularity"},
    {"model.config.recompute_method", "--recompute-method"},
    {"model.config.recompute_num_layers", "--recompute-num-layers"},
    {"model.config.vocab_size", "--vocab-size"},
    {"optim.config.use_distributed_optimizer", "--use-distributed-optimizer", As::truth},
};

bool is_one_of(std::string_view word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}
/// Truth values as YAML 1.1 spells them.
bool is_true(const Node& node) {
  return is_one_of(node.scalar, {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"});
}
bool is_false(const Node& node) {
  return is_one_of(node.scalar, {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"});
}
bool is_open(const Node* node) {
  return node == nullptr || node->kind != Node::Kind::scalar || node->scalar.empty() ||
         node->scalar == "null";
}

bool is_first(const Node& root) {
  return root.at_path("model.num_layers") != nullptr;
}

class RecipeReader {
 public:
  explicit RecipeReader(const Node& root) : root_(root) {}

  NemoRecipe run() {
    for (const Key& key : kKeys) {
      const Node* value = stated(key.key);
      if (value == nullptr) continue;
      if (key.as == As::value)
        state(key.flag, key.key, *value, followed(*value));
      else if (is_truth(key.key, *value) && is_true(*value) == (key.as == As::truth))
        state(key.flag, key.key, *value);
    }
    if (const Node* groups = stated("model.num_query_groups"))
      state("--group-query-attention", "model.num_query_groups", *groups);
    read_kinds();
    read_modules();
    read_precision();
    read_tuning();
    read_hosts();
    r_.states_model = is_first(root_);
    if (const Node* name = stated("run.name")) r_.model_name = printable(name->scalar, 80);
    r_.script.starts_program = true;
    return std::move(r_);
  }

 private:
  void state(const char* flag, const char* key, const Node& at, std::string value = "") {
    Stated& one = r_.script.flags[flag];
    one = {{}, at.at};
    if (!value.empty()) one.values.push_back(std::move(value));
    r_.keys[flag] = key;
  }

  void fault(const char* key, const Node& at, std::string problem, std::string fix) {
    const auto same_key = [&](const Diagnostic& d) { return d.key == key; };
    if (std::none_of(r_.faults.begin(), r_.faults.end(), same_key))
      r_.faults.push_back({at.at, key, std::move(problem), std::move(fix)});
  }

  /// Value of a key; nullptr if it is left open, and with a fault if it is a list or a map.
  const Node* stated(const char* key) {
    const Node* node = root_.at_path(key);
    if (node != nullptr && (node->kind == Node::Kind::sequence || node->is_map())) {
      fault(key, *node, node->is_map() ? "is a map, not a value" : "is a list, not a value",
            "write a single value");
    }
    return is_open(node) ? nullptr : node;
  }

  /// Truth of a key; adds a fault if it is neither true nor false.
  bool is_truth(const char* key, const Node& node) {
    if (is_true(node) || is_false(node)) return true;
    fault(key, node, in_quotes(node.scalar) + " is neither true nor false", "write true or false");
    return false;
  }

  /// Value of "${.encoder_seq_length}", or of a longer path: that of the key of this name in the same
  /// section.
  std::string followed(const Node& value) const {
    const std::string& text = value.scalar;
    if (!text.starts_with("${") || !text.ends_with('}')) return text;
    const std::size_t point = text.rfind('.');
    if (point == std::string::npos) return text;
    const Node* other = root_.at_path("model." + text.substr(point + 1, text.size() - point - 2));
    return is_open(other) || other == &value ? text : other->scalar;
  }

  /// Translates words that are spelled differently.
  void read_kinds() {
    const auto lacks = [&](const char* what, const Node& node) {
      r_.not_modelled.push_back(std::string(what) + " " + printable(node.scalar, 40));
    };
    if (const Node* norm = stated("model.normalization")) {
      state("--normalization", "model.normalization", *norm,
            norm->scalar == "rmsnorm" ? "RMSNorm" : "LayerNorm");
      if (!is_one_of(norm->scalar, {"rmsnorm", "layernorm"})) lacks("normalization", *norm);
    }
    if (const Node* act = stated("model.activation")) {
      if (act->scalar.ends_with("swiglu"))
        state("--swiglu", "model.activation", *act);
      else if (act->scalar != "gelu")
        lacks("activation", *act);
    }
    if (const Node* positions = stated("model.position_embedding_type");
        positions != nullptr && !is_one_of(positions->scalar, {"rope", "learned_absolute"}))
      lacks("position embedding", *positions);
    if (const Node* name = stated("model.optim.name");
        name != nullptr && is_one_of(name->scalar, {"distributed_fused_adam", "mcore_distributed_optim"}))
      state("--use-distributed-optimizer", "model.optim.name", *name);
    constexpr const char* kFlash = "model.use_flash_attention";
    if (const Node* flash = stated(kFlash); flash != nullptr && is_truth(kFlash, *flash) && is_true(*flash))
      state("--attention-backend", kFlash, *flash, "flash");
  }

  void read_modules() {
    constexpr const char* kModules = "model.config.recompute_modules";
    const Node* node = root_.at_path(kModules);
    if (node == nullptr || node->kind != Node::Kind::sequence) return;
    state("--recompute-modules", kModules, *node);
    for (const Node& one : node->items) r_.script.flags["--recompute-modules"].values.push_back(one.scalar);
  }

  void read_precision() {
    for (const char* key : {"trainer.precision", "plugins.precision"}) {
      const Node* node = stated(key);
      if (node == nullptr) continue;
      if (node->scalar.starts_with("bf16")) state("--bf16", key, *node);
      if (node->scalar.starts_with("16")) state("--fp16", key, *node);
    }
    for (const char* key : {"model.fp8", "model.fp8_hybrid", "model.fp8_e4m3", "plugins.fp8"}) {
      const Node* node = stated(key);
      if (node != nullptr && !is_false(*node)) state("--fp8-format", key, *node, "hybrid");
    }
    for (const char* key : {"model.fp8_params", "plugins.fp8_param_gather"}) {
      const Node* node = stated(key);
      if (node != nullptr && !is_false(*node)) state("--fp8-param-gather", key, *node);
    }
  }

  /// Adapters train a small part of the weights. NeMo's schemes: "lora" of
  /// aws/sagemaker-hyperpod-recipes@2631995
  /// recipes_collection/recipes/fine-tuning/llama/checkpointless_llama3_70b_lora.yaml.
  void read_tuning() {
    const Node* scheme = stated("model.peft.peft_scheme");
    if (scheme != nullptr && !is_one_of(scheme->scalar, {"none", "None"}) && !is_false(*scheme)) {
      r_.unmodelled =
          scheme->scalar == "lora" ? "LoRA" : "fine-tuning of some weights: " + printable(scheme->scalar, 40);
    } else if (root_.at_path("model.peft") != nullptr || stated("model.restore_from_path") != nullptr ||
               stated("resume.restore_config.path") != nullptr) {
      r_.script.notes.emplace_back(
          "the run loads weights of a model first; its steps are those of pretraining");
    }
  }

  void read_hosts() {
    if (const Node* devices = stated("trainer.devices")) r_.devices = whole_of(*devices);
    constexpr const char* kNodes = "trainer.num_nodes";
    const Node* nodes = stated(kNodes);
    if (nodes == nullptr || nodes->scalar.starts_with("${")) return;  // the launcher fills it in
    const auto count = whole_of(*nodes);
    if (count && *count >= 1 && *count <= topology::kMostNodes) {
      r_.hosts = count;
    } else {
      fault(kNodes, *nodes,
            fmt::format("{} is not a whole number from 1 to {}", in_quotes(nodes->scalar),
                        topology::kMostNodes),
            "write on how many nodes it runs");
    }
  }

  const Node& root_;
  NemoRecipe r_;
};

}  // namespace

std::string NemoRecipe::key_of(const std::string& flag) const {
  if (const auto here = keys.find(flag); here != keys.end()) return here->second;
  // Keys of NeMo 1 come first, those of NeMo 2 last.
  std::string found = flag;
  for (const Key& k : kKeys) {
    if (flag != k.flag) continue;
    found = k.key;
    if (states_model) break;
  }
  return found;
}

std::string NemoRecipe::in_keys(const std::string& text) const {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";
  std::string all;
  std::size_t at = 0;
  for (std::size_t flag = text.find("--"); flag != std::string::npos; flag = text.find("--", at)) {
    const std::size_t end = std::min(text.find_first_not_of(kLetters, flag), text.size());
    all += text.substr(at, flag - at) + key_of(text.substr(flag, end - flag));
    at = end;
  }
  return all + text.substr(at);
}

bool looks_like_nemo(const Node& root) {
  const auto has = [&](const char* key) { return root.at_path(key) != nullptr; };
  if (!has("trainer.devices") || has("distributed_strategy")) return false;
  if (is_first(root)) return has("model.tensor_model_parallel_size") && has("model.micro_batch_size");
  return has("strategy.tensor_model_parallel_size") && has("data.micro_batch_size") && has("data.seq_length");
}

std::optional<NemoRecipe> nemo_recipe(const planner::ConfigFile& file) {
  try {
    const Node root = parse_document(file.text, file.name);
    if (!looks_like_nemo(root)) return std::nullopt;
    return RecipeReader(root).run();
  } catch (const InputError&) {
    return std::nullopt;  // a script is no document
  }
}

}  // namespace trnplan::targets
