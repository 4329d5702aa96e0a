#include <algorithm>
#include <string_view>
#include <utility>

#include "io/catalog/architecture_reader.h"
#include "io/input/hf_dialects.h"
#include "io/input/readers.h"

namespace trnplan::io {

namespace {

using models::Architecture;

/// The map with the keys of sizes; `node` itself, with a fault, if the deeper map that should have them is
/// missing.
const Node& part_of(const Node& node, const Dialect& d, MapReader& map) {
  if (!d.text_part) return node;
  const Node* part = map.raw("text_config");
  if (part != nullptr && part->is_map()) return *part;
  map.fault("text_config", "is missing or not a map: it has the sizes of the text model",
            "give the config.json with text_config, or its content as model_type gemma3_text");
  return node;
}

/// The dialect of model_type or, without one, of `architectures`; llama (with a note) if both are missing.
const Dialect* recognise(MapReader& map, std::vector<std::string>& notes) {
  const std::string type = map.text("model_type", "");
  const Node* classes = map.raw("architectures");
  const bool named = classes != nullptr && classes->kind == Node::Kind::sequence && !classes->items.empty();
  for (const Dialect& d : dialects()) {
    if (type == d.type || (type.empty() && named && classes->items.front().scalar == d.architecture))
      return &d;
  }
  if (type.empty() && !named) {
    notes.push_back("model_type is missing: read as llama");
    return &dialects().front();
  }
  map.fault(
      type.empty() ? "architectures" : "model_type",
      "\"" + printable(type.empty() ? classes->items.front().scalar : type, 60) + "\" is not supported",
      "known model types: " + known_model_types() +
          "; or state the architecture by hand: the nearest of these types (llama for most decoders) with "
          "the model's own sizes, or a file in catalog/models of the folder that TRNPLAN_CATALOG names");
  return nullptr;
}

void read_shape(MapReader& map, const Dialect& d, Architecture& a) {
  a.hidden = map.required_whole("hidden_size", 1, model_limits.hidden);
  a.layers = map.required_whole("num_hidden_layers", 1, model_limits.layers);
  a.intermediate = map.required_whole("intermediate_size", 1, model_limits.intermediate);
  a.heads = map.required_whole("num_attention_heads", 1, model_limits.heads);
  if (d.grouped) {
    a.kv_heads = map.whole("num_key_value_heads", 0, 1, model_limits.heads);
    a.head_dim = d.states_head_dim ? map.required_whole("head_dim", 1, model_limits.hidden)
                                   : map.whole("head_dim", 0, 1, model_limits.hidden);
  }
  if (d.learned_positions) {
    a.max_positions = map.required_whole("max_position_embeddings", 1, model_limits.positions);
  } else {
    a.max_positions = map.whole("max_position_embeddings", 2048, 1, model_limits.positions);
  }
}

void read_gpt2_shape(MapReader& map, Architecture& a) {
  a.hidden = map.required_whole("n_embd", 1, model_limits.hidden);
  a.layers = map.required_whole("n_layer", 1, model_limits.layers);
  a.heads = map.required_whole("n_head", 1, model_limits.heads);
  a.intermediate = map.whole("n_inner", 4 * a.hidden, 1, model_limits.intermediate);
  a.max_positions = map.required_whole("n_positions", 1, model_limits.positions);
}

void read_details(MapReader& map, const Dialect& d, Architecture& a) {
  a.vocabulary = map.required_whole("vocab_size", 1, model_limits.vocabulary);
  a.tied_embeddings = map.boolean("tie_word_embeddings", d.tied);
  a.rms_norm_eps = map.number(d.epsilon, 1e-6, 0, 1);
  a.rope_theta = map.number(d.rope, 10000, 1, model_limits.rope_theta);
  if (map.has("initializer_range")) a.initializer_range = map.number("initializer_range", 0, 0, 1e3);
  if (!d.experts.empty() && map.has("router_aux_loss_coef"))
    a.router_aux_loss = map.number("router_aux_loss_coef", 0, 0, 1e6);
  if (d.token_types > 0)
    a.token_types = map.whole("type_vocab_size", d.token_types, 1, model_limits.vocabulary);
  read_blocks(map, d, a);
}

void note_ignored(MapReader& map, const Dialect& d, const Architecture& a, std::vector<std::string>& notes) {
  if (map.has("rope_scaling")) {
    notes.push_back("rope_scaling is ignored for the prediction: it changes neither sizes nor work");
  }
  const bool window_off = map.has("use_sliding_window") && !map.boolean("use_sliding_window", true);
  if (d.window == kNoWindow && d.untimed.empty() && map.has("sliding_window") && !window_off) {
    notes.push_back("sliding_window is ignored: full attention is counted");
  }
  const std::string activation = map.text("hidden_act", "");
  const bool usual = activation.empty() || activation == "silu" || activation == "swish" ||
                     a.mlp != models::Mlp::gated || !d.untimed.empty();
  if (!usual) {
    notes.push_back("hidden_act " + printable(activation, 30) +
                    " is counted as silu, which takes as much work, and a config that is written says silu: "
                    "change that before it trains");
  }
  if (map.has("quantization_config"))
    notes.push_back("quantization_config is ignored: all weights are trained in the job's precision");
  note_blocks(map, d, a, notes);
}

void read_model(MapReader& map, const Dialect& d, ArchitectureReading& reading,
                const std::vector<Diagnostic>& faults) {
  Architecture& a = reading.architecture;
  a.mlp = d.mlp;
  a.norm = d.norm;
  a.causal = d.causal;
  a.learned_positions = d.learned_positions;
  a.biases = d.biases;
  a.qkv_bias = d.qkv_bias;
  a.qk_norm = d.qk_norm;
  a.flash_attention = d.flash;
  d.gpt2_keys ? read_gpt2_shape(map, a) : read_shape(map, d, a);
  read_details(map, d, a);
  if (faults.empty()) {
    complete_heads(a, map, d.gpt2_keys ? "n_head" : "num_attention_heads", "num_key_value_heads");
  }
  note_ignored(map, d, a, reading.notes);
  if (!d.learned_positions && !map.has("max_position_embeddings")) {
    reading.notes.push_back("max_position_embeddings is missing: 2048 is assumed, the HF default");
  }
}

}  // namespace

ArchitectureReading hf_config_from(const Node& node, std::string name) {
  std::vector<Diagnostic> faults;
  ArchitectureReading reading;
  Architecture& a = reading.architecture;
  MapReader top(node, "", faults);
  if (node.is_null()) top.fault("", "the file is empty", "give the config.json of a model");
  const Dialect* d = node.is_map() ? recognise(top, reading.notes) : nullptr;
  const Node* part = d != nullptr ? &part_of(node, *d, top) : &node;
  if (d != nullptr && faults.empty()) {
    a.name = std::move(name);
    MapReader map(*part, d->text_part ? "text_config" : "", faults);
    read_model(map, *d, reading, faults);
  }
  top.finish(false);  // an HF config holds many keys that matter only to other programs
  if (!faults.empty()) throw InputError(std::move(faults));
  return reading;
}

ArchitectureReading read_hf_config(const std::filesystem::path& path, const Files& files) {
  const std::filesystem::path folder = path.parent_path();
  // The folder is the better name for ".../Llama-3-8B/config.json".
  const bool generic = path.filename() == "config.json" && folder.has_filename() && folder.filename() != "..";
  const std::string text = files.text(path);
  ArchitectureReading reading = hf_config_from(
      parse_document(text, path.string()),
      generic && folder.filename() != "." ? folder.filename().string() : path.filename().string());
  reading.architecture.source_config = text;
  return reading;
}

}  // namespace trnplan::io
