#include "targets/torchtitan/titan_models.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace trnplan::targets {

namespace {

constexpr TitanFamily kFamilies[] = {
    {.name = "llama3", .is = ""},
    {.name = "llama3_ft", .is = "", .sizes = "llama3"},
    {.name = "qwen3", .is = "", .pipelines = false, .qk_norm = true},
    {.name = "deepseek_v3", .is = "a mixture of experts with multi-head latent attention"},
    {.name = "llama4", .is = "a mixture of experts in some layers, with one expert that every token goes to"},
    {.name = "gpt_oss",
     .is = "a mixture of experts with attention sinks, and a window in every other layer",
     .pipelines = false},
    {.name = "flux", .is = "an image model", .pipelines = false},
    {.name = "vlm", .is = "a Llama 3 that reads images", .pipelines = false},
    {.name = "transformers_modeling_backend",
     .is = "a model of Hugging Face's Transformers, named under [hf_transformers]"},
    {.name = "simple_fsdp.llama3", .is = "Llama 3 with SimpleFSDP"},
    {.name = "simple_fsdp.deepseek_v3", .is = "DeepSeek-V3 with SimpleFSDP"},
    {.name = "compiler_toolkit.llama3", .is = "Llama 3 compiled as one graph"},
    {.name = "compiler_toolkit.deepseek_v3", .is = "DeepSeek-V3 compiled as one graph"},
    {.name = "autoparallel.llama3", .is = "Llama 3 that AutoParallel shards"},
    {.name = "autoparallel.deepseek_v3", .is = "DeepSeek-V3 that AutoParallel shards"},
    {.name = "autoparallel.local_map_deepseek_v3", .is = "DeepSeek-V3 that AutoParallel shards"},
};

/// Sizes, by family and flavor.
struct Size {
  std::string_view family, name;
  int layers, hidden, intermediate, heads, kv_heads, head_dim, vocabulary, positions;
  double rope_theta;
  bool tied = false;
  int experts = 0, top_k = 0;
};

constexpr int kLlamaWords = 128256, kQwenWords = 151936, kFewWords = 2048;
constexpr int kLlamaLength = 131072, kQwenLength = 4096;  ///< max_seq_len

/// Shapes of torchtitan/models/llama3 and qwen3, __init__.py and model/args.py. Llama's inner widths are
/// those that FeedForward (llama3/model/model.py) computes from dim, ffn_dim_multiplier and multiple_of.
constexpr Size kSizes[] = {
    {"llama3", "debugmodel", 6, 256, 768, 16, 16, 16, kFewWords, kLlamaLength, 5e5},
    {"llama3", "8B", 32, 4096, 14336, 32, 8, 128, kLlamaWords, kLlamaLength, 5e5},
    {"llama3", "70B", 80, 8192, 28672, 64, 8, 128, kLlamaWords, kLlamaLength, 5e5},
    {"llama3", "405B", 126, 16384, 53248, 128, 8, 128, kLlamaWords, kLlamaLength, 5e5},
    {"qwen3", "debugmodel", 8, 256, 3072, 16, 8, 128, kFewWords, kQwenLength, 1e6, true},
    {"qwen3", "0.6B", 28, 1024, 3072, 16, 8, 128, kQwenWords, kQwenLength, 1e6, true},
    {"qwen3", "1.7B", 28, 2048, 6144, 16, 8, 128, kQwenWords, kQwenLength, 1e6, true},
    {"qwen3", "4B", 36, 2560, 9728, 32, 8, 128, kQwenWords, kQwenLength, 1e6, true},
    {"qwen3", "8B", 36, 4096, 12288, 32, 8, 128, kQwenWords, kQwenLength, 1e6},
    {"qwen3", "14B", 40, 5120, 17408, 40, 8, 128, kQwenWords, kQwenLength, 1e6},
    {"qwen3", "32B", 64, 5120, 25600, 64, 8, 128, kQwenWords, kQwenLength, 1e6},
    {"qwen3", "debugmodel_moe", 8, 256, 768, 16, 8, 128, kFewWords, kQwenLength, 1e6, false, 64, 8},
    {"qwen3", "30B-A3B", 48, 2048, 768, 32, 4, 128, kQwenWords, 262144, 1e6, false, 128, 8},
    {"qwen3", "235B-A22B", 94, 4096, 1536, 64, 4, 128, kQwenWords, kQwenLength, 5e6, false, 128, 8},
};

/// Flavors of another's size with attention only within a document (attn_mask_type block_causal).
struct WithinDocuments {
  std::string_view family, name, size;
};
constexpr WithinDocuments kWithinDocuments[] = {
    {"llama3", "debugmodel_flex_attn", "debugmodel"},
    {"llama3", "debugmodel_varlen_attn", "debugmodel"},
    {"llama3", "8B_flex", "8B"},
    {"llama3", "8B_varlen", "8B"},
};

/// Flavors that plans are written for, with their recipes: torchtitan/models/llama3/train_configs/*.toml.
/// Functions and shipped FP8 settings: pytorch/torchtitan@b5bcd76
/// torchtitan/models/llama3/config_registry.py.
struct Planned {
  std::string_view family, name, function;
  double parameters;
  std::int64_t steps;
  double lr;
  std::int64_t warmup;
  bool shipped_fp8 = false;
};
constexpr Planned kPlanned[] = {
    {"llama3", "8B", "llama3_8b", 8030261248., 1000, 3e-4, 200},
    {"llama3", "70B", "llama3_70b", 70553706496., 1000, 1.5e-4, 200},
    {"llama3", "405B", "llama3_405b", 405853388800., 3000, 8e-5, 600, true},
};

models::Architecture model_of(const Size& row) {
  models::Architecture a;
  a.layers = row.layers;
  a.hidden = row.hidden;
  a.intermediate = row.intermediate;
  a.heads = row.heads;
  a.kv_heads = row.kv_heads;
  a.head_dim = row.head_dim;
  a.vocabulary = row.vocabulary;
  a.max_positions = row.positions;
  a.rope_theta = row.rope_theta;
  a.tied_embeddings = row.tied;
  a.qk_norm = titan_family(row.family)->qk_norm;
  a.experts = row.experts;
  a.experts_per_token = row.top_k;
  return a;
}

void plan_with(const Planned& row, TitanFlavor& f) {
  f.function = row.function;
  f.shipped_fp8 = row.shipped_fp8;
  f.recipe = {"pytorch/torchtitan@v0.2.2:torchtitan/models/llama3/train_configs",
              row.parameters,
              row.steps,
              row.lr,
              0,
              row.warmup,
              0,
              0.9,
              0.95,
              0.1};
  f.recipe.schedule = models::Decay::linear;
  f.recipe.log_steps = 10;
}

std::vector<TitanFlavor> made_flavors() {
  std::vector<TitanFlavor> all;
  const auto add = [&](std::string_view family, std::string_view name, const models::Architecture& model) {
    TitanFlavor& f = all.emplace_back();
    f.family = family;
    f.name = name;
    f.model = model;
    return &f;
  };
  for (const Size& row : kSizes) {
    TitanFlavor* f = add(row.family, row.name, model_of(row));
    for (const Planned& p : kPlanned) {
      if (p.family == row.family && p.name == row.name) plan_with(p, *f);
    }
    for (const WithinDocuments& w : kWithinDocuments) {
      if (w.family == row.family && w.size == row.name)
        add(w.family, w.name, model_of(row))->attention = "attention within documents";
    }
  }
  return all;
}

const std::vector<TitanFlavor>& flavors() {
  static const std::vector<TitanFlavor> all = made_flavors();
  return all;
}

template <class Is>
const TitanFlavor* first(const Is& is) {
  const auto found = std::find_if(flavors().begin(), flavors().end(), is);
  return found == flavors().end() ? nullptr : &*found;
}

std::string_view sizes_of(std::string_view family) {
  const TitanFamily* known = titan_family(family);
  return known == nullptr || known->sizes.empty() ? family : known->sizes;
}

auto shape(const models::Architecture& a) {
  return std::tie(a.layers, a.hidden, a.intermediate, a.heads, a.kv_heads, a.vocabulary, a.rope_theta, a.mlp,
                  a.norm, a.causal, a.tied_embeddings, a.biases, a.qkv_bias, a.qk_norm, a.learned_positions,
                  a.experts, a.token_types);
}

}  // namespace

const TitanFamily* titan_family(std::string_view name) {
  const auto* found = std::find_if(std::begin(kFamilies), std::end(kFamilies),
                                   [&](const TitanFamily& f) { return f.name == name; });
  return found == std::end(kFamilies) ? nullptr : found;
}

std::string modelled_titan_families() {
  std::string all;
  for (const TitanFamily& f : kFamilies) {
    if (f.is.empty() && f.sizes.empty()) all += (all.empty() ? "" : " and ") + std::string(f.name);
  }
  return all;
}

const TitanFlavor* titan_flavor_named(std::string_view family, std::string_view name) {
  const std::string_view sizes = sizes_of(family);
  return first([&](const TitanFlavor& f) { return f.family == sizes && f.name == name; });
}

std::vector<std::string> titan_flavor_names(std::string_view family) {
  std::vector<std::string> names;
  for (const TitanFlavor& f : flavors()) {
    if (f.family == sizes_of(family)) names.emplace_back(f.name);
  }
  return names;
}

const TitanFlavor* titan_flavor(const models::Architecture& a) {
  return first([&](const TitanFlavor& f) {
    const bool head = a.head_dim == 0 || a.head_dim == f.model.head_dim;
    return !f.function.empty() && head && shape(f.model) == shape(a) && a.blocks == models::Blocks{};
  });
}

const TitanFlavor* titan_flavor_shipped(std::string_view function) {
  return first([&](const TitanFlavor& f) { return !f.function.empty() && f.function == function; });
}

}  // namespace trnplan::targets
