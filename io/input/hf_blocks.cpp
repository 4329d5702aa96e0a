#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/catalog/architecture_reader.h"
#include "io/input/hf_dialects.h"

namespace trnplan::io {

namespace {

using models::Architecture;

/// Adds a reason; there may be more than one, in the order found.
void add_untimed(Architecture& a, const std::string& why) {
  a.blocks.untimed += (a.blocks.untimed.empty() ? "" : "; ") + why;
}

/// Dense layers of a mixture: the first ones (first_k_dense_replace), those listed in mlp_only_layers, and
/// those between every decoder_sparse_step-th.
int dense_layers(MapReader& map, const Architecture& a) {
  const int first = map.whole("first_k_dense_replace", 0, 0, model_limits.layers);
  const int step = map.whole("decoder_sparse_step", 1, 1, model_limits.layers);
  if (map.whole("moe_layer_freq", 1, 1, model_limits.layers) != 1)
    map.fault("moe_layer_freq", "experts in only some layers are not supported", "write 1");
  if (first > a.layers)
    map.fault("first_k_dense_replace", "there are fewer layers", "make it at most num_hidden_layers");
  std::vector<bool> dense(static_cast<std::size_t>(a.layers));
  for (int i = 0; i < a.layers; ++i) dense[static_cast<std::size_t>(i)] = i < first || (i + 1) % step != 0;
  if (const Node* listed = map.raw("mlp_only_layers"); listed != nullptr && !listed->is_null()) {
    const bool list = listed->kind == Node::Kind::sequence;
    if (!list) map.fault("mlp_only_layers", "this is not a list", "write numbers of layers, from 0, in [ ]");
    for (std::size_t i = 0; list && i < listed->items.size(); ++i) {
      const std::string& text = listed->items[i].scalar;
      const bool digits = !text.empty() && text.size() < 6 && !listed->items[i].quoted &&
                          text.find_first_not_of("0123456789") == std::string::npos;
      if (digits && std::stoi(text) < a.layers) {
        dense[static_cast<std::size_t>(std::stoi(text))] = true;
        continue;
      }
      map.fault("mlp_only_layers", "\"" + printable(text, 20) + "\" is not a layer of this model",
                "write numbers of layers, from 0 to num_hidden_layers - 1");
      break;
    }
  }
  int count = 0;
  for (const bool d : dense) count += d ? 1 : 0;
  return count;
}

void read_experts(MapReader& map, const Dialect& d, Architecture& a) {
  a.experts = map.required_whole(d.experts, 1, model_limits.experts);
  a.experts_per_token = map.required_whole("num_experts_per_tok", 1, model_limits.experts);
  if (a.experts_per_token > a.experts) {
    map.fault("num_experts_per_tok", "a token uses more experts than there are",
              "make it at most " + std::string(d.experts));
  }
  // Not a key of Hugging Face: a person's statement for the training loop.
  if (map.raw("capacity_factor") != nullptr)
    a.capacity_factor = map.number("capacity_factor", 0, 0, model_limits.capacity_factor);
  if (d.expert_width.empty()) return;
  const int width = map.required_whole(d.expert_width, 1, model_limits.intermediate);
  const int dense = a.layers > 0 ? dense_layers(map, a) : 0;
  if (dense > 0) {
    a.blocks.dense_layers = dense;
    a.blocks.dense_intermediate = a.intermediate;
    if (d.untimed.empty()) add_untimed(a, "layers with experts and layers without, in one model");
  }
  a.intermediate = width;
  const int shared = map.whole("n_shared_experts", 0, 0, model_limits.experts);
  if (shared > 0 && width > model_limits.intermediate / shared) {
    map.fault("n_shared_experts",
              "this many shared experts are wider than " + std::to_string(model_limits.intermediate),
              "correct this or " + std::string(d.expert_width));
    return;
  }
  a.blocks.shared_intermediate = shared * width;
  if (shared > 0 && d.untimed.empty()) add_untimed(a, "experts that every token goes to");
}

void read_latent(MapReader& map, Architecture& a) {
  models::LatentAttention& l = a.blocks.latent;
  l.query_rank = map.whole("q_lora_rank", 0, 1, model_limits.hidden);
  l.key_value_rank = map.required_whole("kv_lora_rank", 1, model_limits.hidden);
  const int most = a.heads > 0 ? model_limits.attention / 2 / a.heads : model_limits.hidden;
  l.plain_dim = map.required_whole("qk_nope_head_dim", 1, most);
  l.rotary_dim = map.required_whole("qk_rope_head_dim", 1, most);
  l.value_dim = map.required_whole("v_head_dim", 1, most);
  a.head_dim = l.plain_dim + l.rotary_dim;
}

void read_biases(MapReader& map, const Dialect& d, Architecture& a) {
  if (d.attention_bias && map.boolean("attention_bias", d.attention_biased))
    a.qkv_bias = a.blocks.output_bias = true;
  if (d.mlp_bias) a.blocks.mlp_bias = map.boolean("mlp_bias", false);
  a.blocks.expert_bias = d.expert_bias;
  if (d.latent && map.boolean("attention_bias", false))
    map.fault("attention_bias", "biases of latent attention are not supported", "set it to false");
}

/// The window; 0: none. A null states that too, whereas an absent key means the default.
int window_of(MapReader& map, const Dialect& d) {
  const Node* stated = map.raw("sliding_window");
  const int window = map.whole("sliding_window", stated == nullptr ? d.window : 0, 1, model_limits.positions);
  return map.boolean("use_sliding_window", !d.asked_window) ? window : 0;
}

/// Layers with a window as layer_types lists them; empty, with a fault, where it does not list all layers.
std::vector<bool> listed_windows(MapReader& map, const Node& list, int layers) {
  std::vector<bool> windowed;
  if (list.kind != Node::Kind::sequence || static_cast<int>(list.items.size()) != layers) {
    map.fault("layer_types",
              list.kind == Node::Kind::sequence
                  ? fmt::format("it lists {} layers, the model has {}", list.items.size(), layers)
                  : "this is not a list",
              "write full_attention or sliding_attention for each layer, in [ ]");
    return {};
  }
  for (const Node& item : list.items) {
    windowed.push_back(item.scalar == "sliding_attention");
    if (windowed.back() || item.scalar == "full_attention") continue;
    map.fault("layer_types", "layers of the kind \"" + printable(item.scalar, 40) + "\" are not supported",
              "write full_attention or sliding_attention for each layer");
    return {};
  }
  return windowed;
}

/// Layers with a window by what the dialect implies, and its keys.
std::vector<bool> implied_windows(MapReader& map, const Dialect& d, int layers) {
  std::vector<bool> windowed(static_cast<std::size_t>(layers), true);
  const int every =
      d.full_every > 0 ? map.whole("sliding_window_pattern", d.full_every, 1, model_limits.layers) : 0;
  const int first =
      d.windows_from > 0 ? map.whole("max_window_layers", d.windows_from, 0, model_limits.layers) : 0;
  for (int i = 0; i < layers; ++i)
    windowed[static_cast<std::size_t>(i)] = i >= first && (every == 0 || (i + 1) % every != 0);
  return windowed;
}

/// Reads the window and the layers that have it. A pattern that is not "all but each N-th" has no step.
void read_windows(MapReader& map, const Dialect& d, Architecture& a) {
  a.sliding_window = window_of(map, d);
  const Node* list = d.layer_types ? map.raw("layer_types") : nullptr;
  const bool listed = list != nullptr && !list->is_null() && a.layers > 0;
  const std::vector<bool> windowed =
      listed ? listed_windows(map, *list, a.layers) : implied_windows(map, d, a.layers);
  const auto full = std::find(windowed.begin(), windowed.end(), false);
  if (full == windowed.end()) return;
  if (std::find(windowed.begin(), windowed.end(), true) == windowed.end()) a.sliding_window = 0;
  if (a.sliding_window == 0) return;
  a.sliding_window_pattern = static_cast<int>(full - windowed.begin()) + 1;
  for (int i = 0; i < a.layers; ++i) {
    if (windowed[static_cast<std::size_t>(i)] == models::pattern_has_window(a, i + 1)) continue;
    add_untimed(a, "a window in layers that are not all but each N-th");
    return;
  }
}

}  // namespace

void read_blocks(MapReader& map, const Dialect& d, Architecture& a) {
  a.blocks.untimed = std::string(d.untimed);
  a.blocks.norms = d.norms;
  a.blocks.sinks = d.sinks;
  if (!d.experts.empty()) read_experts(map, d, a);
  if (d.latent) read_latent(map, a);
  read_biases(map, d, a);
  if (d.window != kNoWindow) read_windows(map, d, a);
}

void note_blocks(MapReader& map, const Dialect& d, const Architecture& a, std::vector<std::string>& notes) {
  if (a.blocks.sinks)
    notes.emplace_back("biases and sinks are counted; adding them is assumed to take no time");
  else if (a.blocks.output_bias || a.blocks.mlp_bias)
    notes.emplace_back("attention_bias and mlp_bias are counted; adding them is assumed to take no time");
  if (d.latent && map.whole("num_nextn_predict_layers", 0, 0, model_limits.layers) > 0)
    notes.emplace_back("num_nextn_predict_layers is not counted: these layers are not part of the model");
  if (d.text_part) notes.emplace_back("the part that reads images is not counted, only text_config");
}

}  // namespace trnplan::io
