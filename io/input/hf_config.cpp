#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "io/catalog/architecture_reader.h"
#include "io/input/readers.h"

namespace trnplan::io {

namespace {

using models::Architecture;
using models::Mlp;
using models::Norm;

constexpr int kNoWindow = -1;

/// What a model_type implies: the features of the model, the names of its keys and what it does not write down.
/// A row that says nothing more is a Llama.
struct Dialect {
  std::string_view type;
  std::string_view architecture;  ///< class name in `architectures`
  Mlp mlp = Mlp::gated;
  Norm norm = Norm::rms;
  bool learned_positions = false;
  bool biases = false;
  bool tied = false;  ///< default of tie_word_embeddings
  bool causal = true;
  int token_types = 0;  ///< default of type_vocab_size; 0: it has no such table
  bool experts = false;
  int window = kNoWindow;  ///< default of sliding_window, 0: none; kNoWindow: the key means nothing
  bool grouped = true;     ///< reads num_key_value_heads and head_dim
  bool flash = true;       ///< what a config that does not say it trains with
  bool pretraining_tp = false;
  bool gpt2_keys = false;
  std::string_view epsilon = "rms_norm_eps", rope = "rope_theta";
  bool qkv_bias = false;  ///< biases of queries, keys and values alone
  bool qk_norm = false;   ///< norms of queries and keys
};

// Defaults: huggingface/transformers, configuration_*.py of each model.
constexpr Dialect dialects[] = {
    {.type = "llama", .architecture = "LlamaForCausalLM", .pretraining_tp = true},
    {.type = "mistral", .architecture = "MistralForCausalLM", .window = 4096},
    {.type = "mixtral", .architecture = "MixtralForCausalLM", .experts = true, .window = 0, .flash = false},
    {.type = "gpt2",
     .architecture = "GPT2LMHeadModel",
     .mlp = Mlp::plain,
     .norm = Norm::layer,
     .learned_positions = true,
     .biases = true,
     .tied = true,
     .grouped = false,
     .flash = false,
     .gpt2_keys = true,
     .epsilon = "layer_norm_epsilon"},
    {.type = "gpt_neox",
     .architecture = "GPTNeoXForCausalLM",
     .mlp = Mlp::plain,
     .norm = Norm::layer,
     .biases = true,
     .grouped = false,
     .flash = false,
     .epsilon = "layer_norm_eps",
     .rope = "rotary_emb_base"},
    {.type = "bert",
     .architecture = "BertForPreTraining",
     .mlp = Mlp::plain,
     .norm = Norm::layer,
     .learned_positions = true,
     .biases = true,
     .tied = true,
     .causal = false,
     .token_types = 2,
     .grouped = false,
     .flash = false,
     .epsilon = "layer_norm_eps"},
};

const Dialect& dialect_of_type(std::string_view type) {
  return *std::find_if(std::begin(dialects), std::end(dialects),
                       [&](const Dialect& d) { return d.type == type; });
}

std::string known_types() {
  std::string all;
  for (const Dialect& d : dialects) all += (all.empty() ? "" : ", ") + std::string(d.type);
  return all;
}

/// The dialect of model_type or, without one, of `architectures`; llama (with a note) when neither is there.
const Dialect* recognise(MapReader& map, std::vector<std::string>& notes) {
  const std::string type = map.text("model_type", "");
  const Node* classes = map.raw("architectures");
  const bool named = classes != nullptr && classes->kind == Node::Kind::sequence && !classes->items.empty();
  for (const Dialect& d : dialects) {
    if (type == d.type || (type.empty() && named && classes->items.front().scalar == d.architecture))
      return &d;
  }
  if (type.empty() && !named) {
    notes.push_back("model_type is missing: read as llama");
    return &dialect_of_type("llama");
  }
  map.fault(type.empty() ? "architectures" : "model_type",
            "\"" + printable(type.empty() ? classes->items.front().scalar : type, 60) + "\" is not supported",
            "supported model types: " + known_types());
  return nullptr;
}

void read_shape(MapReader& map, const Dialect& d, Architecture& a) {
  a.hidden = map.required_whole("hidden_size", 1, model_limits.hidden);
  a.layers = map.required_whole("num_hidden_layers", 1, model_limits.layers);
  a.intermediate = map.required_whole("intermediate_size", 1, model_limits.intermediate);
  a.heads = map.required_whole("num_attention_heads", 1, model_limits.heads);
  if (d.grouped) {
    a.kv_heads = map.whole("num_key_value_heads", 0, 1, model_limits.heads);
    a.head_dim = map.whole("head_dim", 0, 1, model_limits.hidden);
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

void read_experts(MapReader& map, Architecture& a) {
  a.experts = map.required_whole("num_local_experts", 1, model_limits.experts);
  a.experts_per_token = map.required_whole("num_experts_per_tok", 1, model_limits.experts);
  if (a.experts_per_token > a.experts) {
    map.fault("num_experts_per_tok", "a token uses more experts than there are",
              "make it at most num_local_experts");
  }
}

/// 0: none. A null says so too, where an absent key means the default.
int window_of(MapReader& map, const Dialect& d) {
  const Node* stated = map.raw("sliding_window");
  const int window = map.whole("sliding_window", stated == nullptr ? d.window : 0, 1, model_limits.positions);
  return map.boolean("use_sliding_window", true) ? window : 0;
}

void read_details(MapReader& map, const Dialect& d, Architecture& a) {
  a.vocabulary = map.required_whole("vocab_size", 1, model_limits.vocabulary);
  a.tied_embeddings = map.boolean("tie_word_embeddings", d.tied);
  a.rms_norm_eps = map.number(d.epsilon, 1e-6, 0, 1);
  a.rope_theta = map.number(d.rope, 10000, 1, 1e12);
  if (d.token_types > 0)
    a.token_types = map.whole("type_vocab_size", d.token_types, 1, model_limits.vocabulary);
  if (d.window != kNoWindow) a.sliding_window = window_of(map, d);
  if (d.experts) read_experts(map, a);
}

void note_ignored(MapReader& map, const Dialect& d, std::vector<std::string>& notes) {
  if (map.has("rope_scaling")) {
    notes.push_back("rope_scaling is ignored for the prediction: it changes neither sizes nor work");
  }
  const bool window_off = map.has("use_sliding_window") && !map.boolean("use_sliding_window", true);
  if (d.window == kNoWindow && map.has("sliding_window") && !window_off) {
    notes.push_back("sliding_window is ignored: full attention is counted");
  }
  for (const char* key : {"attention_bias", "mlp_bias"}) {
    if (map.has(key) && map.boolean(key, false))
      notes.push_back(std::string(key) + " is ignored: its vectors are small");
  }
}

}  // namespace

ArchitectureReading hf_config_from(const Node& node, std::string name) {
  std::vector<Diagnostic> faults;
  ArchitectureReading reading;
  Architecture& a = reading.architecture;
  MapReader map(node, "", faults);
  if (node.is_null()) map.fault("", "the file is empty", "give the config.json of a model");
  const Dialect* d = node.is_map() ? recognise(map, reading.notes) : nullptr;
  if (d != nullptr) {
    a.name = std::move(name);
    a.mlp = d->mlp;
    a.norm = d->norm;
    a.causal = d->causal;
    a.learned_positions = d->learned_positions;
    a.biases = d->biases;
    a.qkv_bias = d->qkv_bias;
    a.qk_norm = d->qk_norm;
    a.flash_attention = d->flash;
    d->gpt2_keys ? read_gpt2_shape(map, a) : read_shape(map, *d, a);
    read_details(map, *d, a);
    if (faults.empty()) {
      complete_heads(a, map, d->gpt2_keys ? "n_head" : "num_attention_heads", "num_key_value_heads");
    }
    note_ignored(map, *d, reading.notes);
    if (!d->learned_positions && !map.has("max_position_embeddings")) {
      reading.notes.push_back("max_position_embeddings is missing: 2048 as in the HF default");
    }
  }
  map.finish(false);  // an HF config holds many keys that matter only to other programs
  if (!faults.empty()) throw InputError(std::move(faults));
  return reading;
}

ArchitectureReading read_hf_config(const std::filesystem::path& path, const Files& files) {
  const std::filesystem::path folder = path.parent_path();
  // ".../Llama-3-8B/config.json" is better known by its folder.
  const bool generic = path.filename() == "config.json" && folder.has_filename() && folder.filename() != "..";
  const std::string text = files.text(path);
  ArchitectureReading reading = hf_config_from(
      parse_document(text, path.string()),
      generic && folder.filename() != "." ? folder.filename().string() : path.filename().string());
  reading.architecture.source_config = text;
  return reading;
}

namespace {

using Json = nlohmann::ordered_json;

bool spells(const Dialect& d, const Architecture& a) {
  return d.mlp == a.mlp && d.norm == a.norm && d.learned_positions == a.learned_positions &&
         d.biases == a.biases && d.qkv_bias == a.qkv_bias && d.qk_norm == a.qk_norm && d.causal == a.causal &&
         (d.token_types > 0) == (a.token_types > 0) && d.experts == (a.experts > 0) &&
         (d.window != kNoWindow || a.sliding_window == 0);
}

/// The first row that has the model's features; Llama's where none has.
const Dialect& dialect_of(const Architecture& a) {
  for (const Dialect& d : dialects) {
    if (spells(d, a)) return d;
  }
  return dialects[0];
}

Json llama_json(const Architecture& a, const Dialect& d) {
  Json j;
  j["attention_bias"] = false;
  j["attention_dropout"] = 0.0;
  j["bos_token_id"] = a.vocabulary > 128000 ? 128000 : 1;
  j["eos_token_id"] = a.vocabulary > 128001 ? 128001 : 2;
  if (a.head_dim * a.heads != a.hidden) j["head_dim"] = a.head_dim;
  j["hidden_act"] = "silu";
  j["hidden_size"] = a.hidden;
  j["initializer_range"] = 0.02;
  j["intermediate_size"] = a.intermediate;
  j["max_position_embeddings"] = a.max_positions;
  j["num_attention_heads"] = a.heads;
  if (d.experts) {
    j["num_experts_per_tok"] = a.experts_per_token;
    j["num_local_experts"] = a.experts;
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
  j["initializer_range"] = 0.02;
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
  j["initializer_range"] = 0.02;
  j["intermediate_size"] = a.intermediate;
  j["layer_norm_eps"] = a.rms_norm_eps;
  j["max_position_embeddings"] = a.max_positions;
  j["num_attention_heads"] = a.heads;
  j["num_hidden_layers"] = a.layers;
  j[std::string(d.rope)] = a.rope_theta;
  return j;
}

}  // namespace

std::string hf_config_json(const Architecture& a) {
  if (!a.source_config.empty()) return a.source_config;
  const Dialect& d = dialect_of(a);
  Json j;
  j["architectures"] = {std::string(d.architecture)};
  j.update(d.grouped ? llama_json(a, d) : d.gpt2_keys ? gpt2_json(a) : encoder_json(a, d));
  if (d.window > 0) j["sliding_window"] = a.sliding_window > 0 ? Json(a.sliding_window) : Json(nullptr);
  j["model_type"] = std::string(d.type);
  j["tie_word_embeddings"] = a.tied_embeddings;
  j["torch_dtype"] = "bfloat16";
  j["use_cache"] = true;
  j["vocab_size"] = a.vocabulary;
  return j.dump(2) + "\n";
}

}  // namespace trnplan::io
