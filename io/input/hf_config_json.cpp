#include <stdexcept>

#include "io/format/json_tree.h"
#include "io/input/hf_dialects.h"
#include "io/input/readers.h"

namespace trnplan::io {

namespace {

using models::Architecture;

Json llama_json(const Architecture& a, const Dialect& d) {
  Json j;
  j["attention_bias"] = d.attention_bias && a.qkv_bias;
  j["attention_dropout"] = 0.0;
  j["bos_token_id"] = a.vocabulary > 128000 ? 128000 : 1;
  j["eos_token_id"] = a.vocabulary > 128001 ? 128001 : 2;
  if (d.states_head_dim || a.head_dim * a.heads != a.hidden) j["head_dim"] = a.head_dim;
  j["hidden_act"] = "silu";
  j["hidden_size"] = a.hidden;
  j["intermediate_size"] = a.intermediate;
  j["max_position_embeddings"] = a.max_positions;
  j["num_attention_heads"] = a.heads;
  if (!d.expert_width.empty()) j[std::string(d.expert_width)] = a.intermediate;
  if (a.blocks.mlp_bias) j["mlp_bias"] = true;
  if (!d.experts.empty()) {
    j["num_experts_per_tok"] = a.experts_per_token;
    j[std::string(d.experts)] = a.experts;
    if (a.capacity_factor) j["capacity_factor"] = *a.capacity_factor;
  }
  j["num_hidden_layers"] = a.layers;
  j["num_key_value_heads"] = a.kv_heads;
  if (d.pretraining_tp) j["pretraining_tp"] = 1;
  j["rms_norm_eps"] = a.rms_norm_eps;
  j["rope_scaling"] = a.rope_scaling.empty() ? Json(nullptr) : Json::parse(a.rope_scaling);
  j["rope_theta"] = a.rope_theta;
  return j;
}

Json gpt2_json(const Architecture& a) {
  Json j;
  j["activation_function"] = "gelu_new";
  j["layer_norm_epsilon"] = a.rms_norm_eps;
  j["n_embd"] = a.hidden;
  j["n_head"] = a.heads;
  j["n_inner"] = a.intermediate;
  j["n_layer"] = a.layers;
  j["n_positions"] = a.max_positions;
  j["rope_theta"] = a.rope_theta;
  return j;
}

Json encoder_json(const Architecture& a, const Dialect& d) {
  Json j;
  j["hidden_act"] = "gelu";
  j["hidden_size"] = a.hidden;
  j["intermediate_size"] = a.intermediate;
  j["layer_norm_eps"] = a.rms_norm_eps;
  j["max_position_embeddings"] = a.max_positions;
  j["num_attention_heads"] = a.heads;
  j["num_hidden_layers"] = a.layers;
  j[std::string(d.rope)] = a.rope_theta;
  return j;
}

/// The window and the layers that have it. A dialect that must ask for a window and does not has none.
void put_windows(Json& j, const Architecture& a, const Dialect& d) {
  const int windowed = models::windowed_layers(a);
  if (windowed == 0) {
    if (d.window > 0 && !d.asked_window) j["sliding_window"] = nullptr;
    return;
  }
  j["sliding_window"] = a.sliding_window;
  if (d.asked_window) j["use_sliding_window"] = true;
  if (windowed == a.layers && !d.layer_types) return;
  for (int i = 1; i <= a.layers; ++i) {
    const bool windowed_layer = models::pattern_has_window(a, i);
    j["layer_types"].push_back(windowed_layer ? "sliding_attention" : "full_attention");
  }
}

}  // namespace

std::string hf_config_json(const Architecture& a) {
  if (!a.source_config.empty()) return a.source_config;
  if (!a.blocks.untimed.empty()) throw std::invalid_argument("a model that is only counted is not written");
  const Dialect& d = dialect_of(a);
  Json j;
  j["architectures"] = {std::string(d.architecture)};
  if (a.initializer_range) j["initializer_range"] = *a.initializer_range;
  if (a.router_aux_loss) j["router_aux_loss_coef"] = *a.router_aux_loss;
  j.update(d.grouped ? llama_json(a, d) : d.gpt2_keys ? gpt2_json(a) : encoder_json(a, d));
  put_windows(j, a, d);
  j["model_type"] = std::string(d.type);
  j["tie_word_embeddings"] = a.tied_embeddings;
  j["torch_dtype"] = "bfloat16";
  j["use_cache"] = true;
  j["vocab_size"] = a.vocabulary;
  return j.dump(2) + "\n";
}

}  // namespace trnplan::io
