#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "io/catalog/architecture_reader.h"
#include "io/input/readers.h"

namespace trnplan::io {

namespace {

using models::Architecture;
using targets::NxdtConfig;
using targets::NxdtKey;

SourcePos place(const NxdtConfig& config, std::string_view key) {
  const NxdtKey* found = config.find(key);
  return found == nullptr ? SourcePos{config.file} : found->at;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Every name in the config that often contains the model's name.
std::string name_hints(const NxdtConfig& config) {
  std::string all;
  for (const char* key : {"name", "exp_manager.name", "exp_manager.checkpoint_callback_params.filename",
                          "model.model_config", "data.train_dir"}) {
    all += folded_name(config.text(key)) + '|';
  }
  return all + folded_name(std::filesystem::path(config.file).stem().string());
}

bool is_moe(const NxdtConfig& config) {
  return config.has_section("model.moe") || contains(folded_name(config.text("name")), "mixtral");
}

// ---- HF: from the config.json next to it ----

std::optional<std::filesystem::path> model_config_file(const NxdtConfig& config, const Files& files) {
  const std::string named = config.text("model.model_config");
  if (named.empty()) return std::nullopt;
  const std::filesystem::path path = std::filesystem::path(config.file).parent_path() / named;
  if (!files.has(path)) return std::nullopt;
  return path;
}

// ---- HF: from the catalogue ----

/// Score of a catalogue model against the config's statements; 0 if they contradict it.
int fit(const NxdtConfig& config, const Architecture& a, const std::string& hints) {
  if (config.whole("model.hidden_size") != a.hidden || a.mlp != models::Mlp::gated) return 0;
  if (is_moe(config) != (a.experts > 0)) return 0;
  int score = 1;
  // A config without rope_theta leaves the config.json's, and only Llama-2 has the default there.
  if (config.number("model.rope_theta").value_or(10000.0) == a.rope_theta) score += 8;
  if (config.whole("model.num_layers") == a.layers) score += 4;
  if (config.whole("model.max_position_embeddings") == a.max_positions) score += 2;
  if (contains(hints, folded_name(a.name))) score += 16;
  return score;
}

Architecture guess(const NxdtConfig& config, const Catalog& catalog) {
  const std::string hints = name_hints(config);
  std::optional<Architecture> best;
  int best_score = 0;
  for (const std::string& name : catalog.models()) {
    Architecture candidate = catalog.architecture(name);
    const int score = fit(config, candidate, hints);
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(candidate);
  }
  if (best) return *best;
  throw InputError(
      Diagnostic{place(config, "model.hidden_size"), "model.hidden_size",
                 "no model of the catalogue has this hidden size, and model.model_config cannot be read",
                 "state the path of the model's config.json, relative to this file, in model.model_config"});
}

void apply_moe(const NxdtConfig& config, Architecture& a) {
  if (!is_moe(config)) return;
  a.experts = config.whole("model.moe.num_experts").value_or(a.experts > 0 ? a.experts : 8);
  a.experts_per_token =
      config.whole("model.moe.top_k").value_or(a.experts_per_token > 0 ? a.experts_per_token : 2);
  const bool dropless = config.boolean("model.moe.dropless").value_or(false);
  if (const auto stated = config.number("model.moe.capacity_factor"))
    a.capacity_factor = std::max(0.0, *stated);
  if (dropless) a.capacity_factor = 0;
}

ArchitectureReading from_hf(const NxdtConfig& config, const Catalog& catalog, const Files& files) {
  if (const auto file = model_config_file(config, files)) return read_hf_config(*file, files);
  ArchitectureReading reading;
  reading.architecture = guess(config, catalog);
  const Architecture& a = reading.architecture;
  const std::string named = config.text("model.model_config");
  reading.notes.push_back((named.empty() ? "model.model_config is not set"
                                         : "model.model_config (" + printable(named) + ") cannot be read") +
                          ": heads, MLP width and vocabulary taken from " + a.name);
  const std::optional<int> layers = config.whole("model.num_layers");
  if (layers && *layers != a.layers) {
    reading.notes.push_back("model.num_layers is " + std::to_string(*layers) + ", " + a.name + " has " +
                            std::to_string(a.layers) + ": the config's value is used");
  }
  apply_moe(config, reading.architecture);
  return reading;
}

// ---- Megatron: the YAML states the shape ----

/// Vocabulary sizes of the shipped configs' tokenizers: Llama-2's 32000 and GPT-2's 50257. Padded as the
/// Megatron path does it, to a multiple of make_vocab_size_divisible_by x TP
/// (aws-neuron/neuronx-distributed-training@9169aa03:src/neuronx_distributed_training/lightning_modules/data/base.py).
int padded_vocabulary(const NxdtConfig& config, int vocabulary) {
  const auto stated = [&](std::string_view key, int fallback) {
    return std::clamp(config.whole(key).value_or(fallback), 1, model_limits.vocabulary);
  };
  const std::int64_t multiple = std::int64_t{stated("model.make_vocab_size_divisible_by", 128)} *
                                stated("distributed_strategy.tensor_model_parallel_size", 1);
  const std::int64_t padded = (vocabulary + multiple - 1) / multiple * multiple;
  return padded > model_limits.vocabulary ? vocabulary : static_cast<int>(padded);
}

ArchitectureReading from_megatron(const NxdtConfig& config) {
  ArchitectureReading reading;
  Architecture& a = reading.architecture;
  a.name = config.text("name", "megatron");
  const bool gpt =
      contains(folded_name(a.name), "gpt") || contains(config.text("data.tokenizer.type"), "GPT2");
  a.norm = gpt ? models::Norm::layer : models::Norm::rms;
  const int vocabulary = gpt ? 50257 : 32000;
  a.vocabulary = padded_vocabulary(config, vocabulary);
  a.rms_norm_eps = config.number("model.layernorm_epsilon").value_or(a.rms_norm_eps);
  reading.notes.push_back("a Megatron config does not state the vocabulary: " + std::to_string(vocabulary) +
                          " assumed" +
                          (a.vocabulary == vocabulary ? "" : ", padded to " + std::to_string(a.vocabulary)));
  apply_moe(config, a);
  return reading;
}

// ---- checks ----

class ShapeChecker {
 public:
  ShapeChecker(const NxdtConfig& config, std::vector<Diagnostic>& faults)
      : config_(config), faults_(faults) {}

  void in_range(const std::string& key, int value, int most) {
    const NxdtKey* stated = config_.find(key);
    if (stated != nullptr && !config_.text(key).empty() && config_.whole(key).value_or(0) < 1) {
      fault(key, "\"" + printable(stated->text, 60) + "\" is not a whole number of at least 1",
            "write a plain whole number");
    } else if (value < 1) {
      fault(key, "this key is missing", "add it: it is part of the model's shape");
    } else if (value > most) {
      fault(key, std::to_string(value) + " is too large (at most " + std::to_string(most) + ")",
            "correct the number");
    }
  }
  void fault(const std::string& key, std::string problem, std::string fix) {
    faults_.push_back({place(config_, key), key, std::move(problem), std::move(fix)});
  }

 private:
  const NxdtConfig& config_;
  std::vector<Diagnostic>& faults_;
};

void check_heads(ShapeChecker& check, const Architecture& a) {
  if (a.head_dim > model_limits.attention / a.heads) {
    check.fault("model.kv_channels",
                "heads times channels per head is above " + std::to_string(model_limits.attention),
                "correct one of the two");
  } else if (a.head_dim < 1 || (a.hidden % a.heads != 0 && a.head_dim == a.hidden / a.heads)) {
    check.fault(
        "model.hidden_size",
        std::to_string(a.hidden) + " is not a multiple of " + std::to_string(a.heads) + " attention heads",
        "correct one of the two");
  }
  if (a.kv_heads < 1 || a.heads % a.kv_heads != 0) {
    check.fault("model.num_kv_heads",
                std::to_string(a.kv_heads) + " KV heads do not divide " + std::to_string(a.heads) + " heads",
                "make the number of heads a multiple of the KV heads");
  }
}

void check_shape(const NxdtConfig& config, const Architecture& a) {
  std::vector<Diagnostic> faults;
  ShapeChecker check(config, faults);
  check.in_range("model.num_layers", a.layers, model_limits.layers);
  check.in_range("model.hidden_size", a.hidden, model_limits.hidden);
  check.in_range("model.ffn_hidden_size", a.intermediate, model_limits.intermediate);
  check.in_range("model.num_attention_heads", a.heads, model_limits.heads);
  check.in_range("model.max_position_embeddings", a.max_positions, model_limits.positions);
  if (a.experts > model_limits.experts || a.experts < 0) {
    check.fault("model.moe.num_experts",
                "at most " + std::to_string(model_limits.experts) + " experts are supported",
                "correct the number");
  }
  if (faults.empty()) check_heads(check, a);
  if (!faults.empty()) throw InputError(std::move(faults));
}

}  // namespace

ArchitectureReading architecture_of_nxdt(const NxdtConfig& config, const Catalog& catalog,
                                         const Files& files) {
  const bool megatron = config.text("model_source", "hf") == "megatron";
  ArchitectureReading reading = megatron ? from_megatron(config) : from_hf(config, catalog, files);
  Architecture& a = reading.architecture;
  a = targets::trained_architecture(config, std::move(a));
  // Without max_position_embeddings both paths of NxDT use the sequence length.
  if (a.max_positions < 1) a.max_positions = config.whole("model.encoder_seq_length").value_or(0);
  a.flash_attention = config.boolean("model.fusions.flash_attention").value_or(false) ||
                      config.boolean("model.fusions.ring_attention").value_or(false);
  check_shape(config, a);
  return reading;
}

}  // namespace trnplan::io
