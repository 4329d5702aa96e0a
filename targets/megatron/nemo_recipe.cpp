#include "targets/megatron/nemo_recipe.h"

#include <cctype>

#include <fmt/format.h>

#include "text/diagnostic.h"
#include "topology/instance.h"

namespace trnplan::targets {

namespace {

enum class As {
  value,    ///< behind the flag
  truth,    ///< the flag, where it is true
  untruth,  ///< the flag, where it is false
};

/// Which key is which flag. Keys of NeMo 1: aws/sagemaker-hyperpod-recipes@ffaa5bb
/// recipes_collection/recipes/training/llama/megatron_llama3_1_8b_nemo.yaml; of NeMo 2: @2631995
/// recipes_collection/recipes/training/llama/checkpointless_llama3_70b_pretrain.yaml. The virtual size of both counts the
/// stages of a rank.
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
    {"strategy.sequence_parallel", "--sequence-parallel", As::truth},
    {"model.config.recompute_granularity", "--recompute-granularity"},
    {"model.config.recompute_method", "--recompute-method"},
    {"model.config.recompute_num_layers", "--recompute-num-layers"},
    {"model.config.vocab_size", "--vocab-size"},
    {"optim.config.use_distributed_optimizer", "--use-distributed-optimizer", As::truth},
};

/// YAML 1.1 spells truths in many ways, and NeMo reads it.
std::optional<bool> truth_of(const Node& node) {
  std::string word = node.scalar;
  for (char& c : word) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (word == "true" || word == "yes" || word == "on") return true;
  if (word == "false" || word == "no" || word == "off") return false;
  return std::nullopt;
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
      const Node* value = root_.at_path(key.key);
      if (is_open(value)) continue;
      r_.keys.insert_or_assign(key.flag, key.key);
      if (key.as == As::value)
        state(key.flag, *value, followed(*value));
      else if (truth(*value, key.key) == (key.as == As::truth))
        state(key.flag, *value);
    }
    if (const Node* groups = root_.at_path("model.num_query_groups"); !is_open(groups))
      state("--group-query-attention", *groups);
    read_kinds();
    read_precision();
    r_.states_model = is_first(root_);
    if (const Node* name = root_.at_path("run.name"); !is_open(name)) r_.model_name = name->scalar;
    if (const Node* nodes = root_.at_path("trainer.num_nodes"); !is_open(nodes)) r_.hosts = hosts(*nodes);
    for (const char* key : {"model.peft.peft_scheme", "peft.peft_scheme"}) {
      if (const Node* scheme = root_.at_path(key); !is_open(scheme) && scheme->scalar != "none")
        r_.not_modelled.push_back("fine-tuning of few weights (" + printable(scheme->scalar, 20) + ")");
    }
    r_.script.starts_program = true;
    return std::move(r_);
  }

 private:
  bool truth(const Node& node, const char* key) const {
    if (const auto value = truth_of(node)) return *value;
    throw InputError({node.at, key, in_quotes(node.scalar) + " is no truth", "write true or false"});
  }
  static int hosts(const Node& node) {
    const auto number = whole_of(node);
    if (number && *number >= 1 && *number <= topology::kMostNodes) return *number;
    throw InputError(
        {node.at, "trainer.num_nodes",
         fmt::format("{} is no number of nodes from 1 to {}", in_quotes(node.scalar), topology::kMostNodes),
         "write how many nodes train"});
  }
  /// What is neither of two words is another model.
  void not_as(const Node& node, const char* key) {
    r_.not_modelled.push_back(fmt::format("{}: {}", key, printable(node.scalar, 30)));
  }

  void state(const char* flag, const Node& at, std::string value = "") {
    Stated& one = r_.script.flags[flag];
    one = {{}, at.at};
    if (!value.empty()) one.values.push_back(std::move(value));
  }

  /// "${.encoder_seq_length}", or a longer path: the key of that name beside it.
  std::string followed(const Node& value) const {
    const std::string& text = value.scalar;
    if (!text.starts_with("${") || !text.ends_with('}')) return text;
    const std::size_t point = text.rfind('.');
    if (point == std::string::npos) return text;
    const Node* other = root_.at_path("model." + text.substr(point + 1, text.size() - point - 2));
    return is_open(other) || other == &value ? text : other->scalar;
  }

  /// Words that are spelled otherwise.
  void read_kinds() {
    const auto word = [&](const char* key) {
      const Node* node = root_.at_path(key);
      return is_open(node) ? nullptr : node;
    };
    if (const Node* norm = word("model.normalization")) {
      state("--normalization", *norm, norm->scalar == "rmsnorm" ? "RMSNorm" : "LayerNorm");
      if (norm->scalar != "rmsnorm" && norm->scalar != "layernorm") not_as(*norm, "model.normalization");
    }
    if (const Node* act = word("model.activation")) {
      if (act->scalar.ends_with("swiglu"))
        state("--swiglu", *act);
      else if (act->scalar != "gelu" && act->scalar != "fast-gelu")
        not_as(*act, "model.activation");
    }
    if (const Node* positions = word("model.position_embedding_type");
        positions != nullptr && positions->scalar != "rope" && positions->scalar != "learned_absolute")
      not_as(*positions, "model.position_embedding_type");
    if (const Node* modules = root_.at_path("model.config.recompute_modules");
        modules != nullptr && !modules->items.empty()) {
      state("--recompute-modules", *modules);
      for (const Node& one : modules->items)
        r_.script.flags["--recompute-modules"].values.push_back(one.scalar);
    }
    if (const Node* name = word("model.optim.name");
        name != nullptr &&
        (name->scalar == "distributed_fused_adam" || name->scalar == "mcore_distributed_optim"))
      state("--use-distributed-optimizer", *name);
    if (const Node* flash = word("model.use_flash_attention");
        flash != nullptr && truth(*flash, "model.use_flash_attention"))
      state("--attention-backend", *flash, "flash");
    if (const Node* several = word("strategy.num_distributed_optimizer_instances");
        several != nullptr && several->scalar != "1") {
      r_.script.notes.emplace_back(
          "strategy.num_distributed_optimizer_instances is not modelled: states are predicted as sharded "
          "over "
          "all replicas");
    }
  }

  void read_precision() {
    for (const char* key : {"trainer.precision", "plugins.precision"}) {
      const Node* node = root_.at_path(key);
      if (is_open(node)) continue;
      if (node->scalar.starts_with("bf16")) state("--bf16", *node);
      if (node->scalar.starts_with("16")) state("--fp16", *node);
    }
    for (const char* key : {"model.fp8", "model.fp8_hybrid", "model.fp8_e4m3", "plugins.fp8"}) {
      const Node* node = root_.at_path(key);
      if (!is_open(node) && truth_of(*node) != false) state("--fp8-format", *node, "hybrid");
    }
  }

  const Node& root_;
  NemoRecipe r_;
};

}  // namespace

std::string NemoRecipe::key_of(const std::string& flag) const {
  const auto found = keys.find(flag);
  return found == keys.end() ? flag : found->second;
}

bool looks_like_nemo(const Node& root) {
  const auto has = [&](const char* key) { return root.at_path(key) != nullptr; };
  if (!has("trainer.devices") || has("distributed_strategy")) return false;
  if (is_first(root)) return has("model.tensor_model_parallel_size") && has("model.micro_batch_size");
  return has("strategy.tensor_model_parallel_size") && has("data.micro_batch_size") && has("data.seq_length");
}

std::optional<NemoRecipe> nemo_recipe(const planner::ConfigFile& file) {
  Node root;
  try {
    root = parse_document(file.text, file.name);
  } catch (const InputError&) {
    return std::nullopt;  // a script is no document
  }
  if (!looks_like_nemo(root)) return std::nullopt;
  return RecipeReader(root).run();
}

}  // namespace trnplan::targets
