#include "io/catalog/architecture_reader.h"

#include <nlohmann/json.hpp>

namespace trnplan::io {

namespace {

/// JSON of a flat object of numbers and texts, as the file has it.
std::string json_of(const Node& object) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (const Node::Entry& e : object.entries) {
    const bool text = e.value.quoted || !nlohmann::json::accept(e.value.scalar);
    j[e.key] = text ? nlohmann::ordered_json(e.value.scalar) : nlohmann::ordered_json::parse(e.value.scalar);
  }
  return j.dump();
}

std::optional<double> llama31_rope_factor(const std::string& rope_scaling) {
  const auto j = nlohmann::json::parse(rope_scaling);
  const auto is = [&](const char* key, const nlohmann::json& value) {
    return j.value(key, nlohmann::json()) == value;
  };
  const bool llama = (is("rope_type", "llama3") || is("type", "llama3")) && is("low_freq_factor", 1.0) &&
                     is("high_freq_factor", 4.0) && is("original_max_position_embeddings", 8192);
  if (!llama || !j.contains("factor") || !j["factor"].is_number()) return std::nullopt;
  return j["factor"].get<double>();
}

}  // namespace

void complete_heads(models::Architecture& a, MapReader& map, std::string_view heads_key,
                    std::string_view kv_key) {
  if (a.heads < 1 || a.hidden < 1) return;
  if (a.kv_heads == 0) a.kv_heads = a.heads;
  if (a.heads % a.kv_heads != 0) {
    map.fault(kv_key,
              std::to_string(a.kv_heads) + " KV heads do not divide " + std::to_string(a.heads) + " heads",
              "make the number of heads a multiple of the KV heads");
  }
  if (a.head_dim > 0) {
    if (a.head_dim <= model_limits.attention / a.heads) return;
    map.fault("head_dim", "heads times head_dim is above " + std::to_string(model_limits.attention),
              "correct one of the two");
    a.head_dim = 0;
    return;
  }
  if (a.hidden % a.heads != 0) {
    map.fault(heads_key,
              "hidden size " + std::to_string(a.hidden) + " is not a multiple of " + std::to_string(a.heads) +
                  " heads",
              "correct one of the two, or state head_dim");
    return;
  }
  a.head_dim = a.hidden / a.heads;
}

models::Architecture architecture_from(const Node& node, bool strict) {
  std::vector<Diagnostic> faults;
  MapReader map(node, "", faults);
  models::Architecture a;
  a.name = map.required_text("name");
  a.title = map.text("title", "");
  map.required_text("family");  // a label for people
  a.hidden = map.required_whole("hidden_size", 1, model_limits.hidden);
  a.layers = map.required_whole("num_hidden_layers", 1, model_limits.layers);
  a.intermediate = map.required_whole("intermediate_size", 1, model_limits.intermediate);
  a.heads = map.required_whole("num_attention_heads", 1, model_limits.heads);
  a.kv_heads = map.whole("num_key_value_heads", 0, 1, model_limits.heads);
  a.head_dim = map.whole("head_dim", 0, 1, model_limits.hidden);
  a.vocabulary = map.required_whole("vocab_size", 1, model_limits.vocabulary);
  a.max_positions = map.required_whole("max_position_embeddings", 1, model_limits.positions);
  const std::string mlp = map.text("mlp", "gated");
  a.mlp = mlp == "plain" ? models::Mlp::plain : models::Mlp::gated;
  if (mlp != "plain" && mlp != "gated") map.fault("mlp", "unknown MLP kind", "use gated or plain");
  const std::string norm = map.text("norm", "rms");
  a.norm = norm == "layer" ? models::Norm::layer : models::Norm::rms;
  if (norm != "layer" && norm != "rms") map.fault("norm", "unknown kind of norm", "use rms or layer");
  a.tied_embeddings = map.boolean("tie_word_embeddings", false);
  a.learned_positions = map.boolean("learned_positions", false);
  a.token_types = map.whole("type_vocab_size", 0, 0, model_limits.vocabulary);
  a.causal = map.boolean("causal", true);
  a.sliding_window = map.whole("sliding_window", 0, 1, model_limits.positions);
  a.sliding_window_pattern = map.whole("sliding_window_pattern", 0, 1, model_limits.layers);
  a.biases = map.boolean("biases", false);
  a.qkv_bias = map.boolean("qkv_bias", false);
  a.qk_norm = map.boolean("qk_norm", false);
  a.blocks.output_bias = map.boolean("output_bias", false);
  a.blocks.mlp_bias = map.boolean("mlp_bias", false);
  a.blocks.expert_bias = map.boolean("expert_bias", false);
  a.blocks.sinks = map.boolean("attention_sinks", false);
  a.flash_attention = map.boolean("flash_attention", true);
  a.rope_theta = map.number("rope_theta", a.rope_theta, 1, model_limits.rope_theta);
  a.rms_norm_eps = map.number("rms_norm_eps", a.rms_norm_eps, 0, 1);
  if (const Node* scaling = map.raw("rope_scaling"); scaling != nullptr && scaling->is_map()) {
    a.rope_scaling = json_of(*scaling);
    a.llama31_rope_factor = llama31_rope_factor(a.rope_scaling);
  }
  a.experts = map.whole("num_local_experts", 0, 0, model_limits.experts);
  a.experts_per_token = map.whole("num_experts_per_tok", 0, 0, model_limits.experts);
  if (map.raw("capacity_factor") != nullptr)
    a.capacity_factor = map.number("capacity_factor", 0, 0, model_limits.capacity_factor);
  complete_heads(a, map, "num_attention_heads", "num_key_value_heads");
  map.finish(strict);
  if (!faults.empty()) throw InputError(std::move(faults));
  return a;
}

}  // namespace trnplan::io
