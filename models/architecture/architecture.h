// The architecture to train: the shape of a decoder (or encoder) transformer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "models/architecture/blocks.h"

namespace trnplan::models {

enum class Mlp { gated, plain };  ///< SwiGLU (3 matrices) or GELU (2 matrices)
enum class Norm { rms, layer };   ///< layer norm has a mean, and a bias if `biases` is set

/// Dimensions and features of a transformer that distinguish families of models. Names follow the HF
/// config.json keys. The dialect table of each reader and target gives each family's spelling.
struct Architecture {
  std::string name;       ///< catalogue name or file name, for messages only
  std::string title;      ///< the name as people write it, "Llama-3 70B"; "" = not in the catalogue
  int layers = 0;         ///< num_hidden_layers
  int hidden = 0;         ///< hidden_size
  int intermediate = 0;   ///< intermediate_size
  int heads = 0;          ///< num_attention_heads
  int kv_heads = 0;       ///< num_key_value_heads
  int head_dim = 0;       ///< hidden / heads unless the config states it
  int vocabulary = 0;     ///< vocab_size
  int max_positions = 0;  ///< max_position_embeddings
  Mlp mlp = Mlp::gated;
  Norm norm = Norm::rms;
  bool tied_embeddings = false;    ///< tie_word_embeddings
  bool learned_positions = false;  ///< GPT-3, BERT: a position table of max_positions x hidden
  int token_types = 0;             ///< rows of a table of segments (BERT: 2); 0 = none
  bool causal = true;              ///< false: each token also sees the tokens after it (BERT)
  int sliding_window = 0;          ///< tokens that a token sees, with itself (Mistral); 0 = all before it
  int sliding_window_pattern = 0;  ///< N: each N-th layer has none (GPT-OSS: 2); 0 = all have it
  bool biases = false;             ///< biases of all linear products (GPT-3, BERT)
  bool qkv_bias = false;           ///< biases of the query, key and value products only (Qwen2)
  bool qk_norm = false;            ///< a norm of each head's queries and keys (Qwen3)
  bool flash_attention = true;     ///< used by the shipped training config of this model
  bool dropout = false;            ///< on attention probabilities, in training
  double rope_theta = 10000.0;
  double rms_norm_eps = 1e-5;
  int experts = 0;  ///< Mixtral; 0 = dense
  int experts_per_token = 0;
  /// Places of all experts over tokens x experts_per_token where the model's config states it; 0 = no limit.
  /// Absent: the training loop's own value (models::capacity_factor).
  std::optional<double> capacity_factor;
  /// Standard deviation of initial weights (initializer_range), and the weight of the loss that spreads tokens over
  /// experts (router_aux_loss_coef), where the model's config states them. No effect on cost.
  std::optional<double> initializer_range, router_aux_loss;
  Blocks blocks;             ///< parts of layers beyond those of a Llama
  std::string rope_scaling;  ///< JSON object of the HF config, kept as it is; "" = none. No effect on cost
  /// Factor of a rope_scaling that equals Llama 3.1's in all but this factor: low and high frequency factors 1 and
  /// 4, 8192 original positions, which other scripts than Hugging Face's fix. Absent for any other. Source of the
  /// numbers: meta-llama/Llama-3.1-8B config.json.
  std::optional<double> llama31_rope_factor;
  std::string source_config;  ///< text of the HF config.json that this came from; "" = from the catalogue

  int kv_dim() const { return kv_heads * head_dim; }
  bool grouped_queries() const { return kv_heads < heads; }
};

/// True for a causal decoder with RMS norm and rotary positions, with or without experts, which HF's Llama
/// code can run.
bool is_llama_like(const Architecture& a);

/// Trainable parameters: embedding, layers, final norm and head. Llama-3 8B: 8,030,261,248
/// (meta-llama/Meta-Llama-3-8B).
std::int64_t parameters(const Architecture& a);

/// Parameters that a token meets: of the experts, only the experts_per_token that it goes to, and everything
/// that all tokens share (router, shared experts, embedding and head). Equal to parameters() for a model
/// without experts.
std::int64_t active_parameters(const Architecture& a);

/// True if any linear product has biases; targets for Llama have no key for them.
bool has_linear_biases(const Architecture& a);

/// Scores of `tokens` of which each sees itself and those before it, `window` at most.
double causal_scores(double tokens, double window);

/// Layers with the window: none without one, else all but each sliding_window_pattern-th.
int windowed_layers(const Architecture& a);

/// True if layer `layer`, from 1, is one that the pattern gives a window.
bool pattern_has_window(const Architecture& a, int layer);

/// True if some layers have a window and some have none.
bool alternates_windows(const Architecture& a);

/// True if the window hides tokens of a sequence, in any layer.
bool has_window(const Architecture& a, int sequence);

/// Layers with the same attention.
struct AttentionKind {
  int window = 0;    ///< of a token, with itself; 0 = all before it
  double share = 0;  ///< of the model's layers; 0 = no layer is of this kind

  /// Share of the square of `tokens` x `tokens` scores that counts as attention: twice what a causal window lets
  /// tokens see, 1 without a window.
  [[nodiscard]] double seen(double tokens) const;
};

/// Kinds of layers: those without a window, then those with one.
std::array<AttentionKind, 2> attention_kinds(const Architecture& a);

/// Mean of AttentionKind::seen over all layers.
double seen_share(const Architecture& a, double tokens);

/// Training FLOPs per token, 6N + 12*L*h*s: full attention square, no recompute (Chowdhery et al. 2022, PaLM,
/// appendix B). In layers with a sliding window s is twice the tokens that one sees on average, which is s without one.
double model_flops_per_token(const Architecture& a, int sequence);

/// Training FLOPs per token as 6N only, as many tutorials count; of a mixture, N counts the experts that a
/// token goes to and their rows of the router.
double six_n_flops_per_token(const Architecture& a);

/// Training FLOPs per token of the products of matrices alone, of weights and of attention: forward, and twice that
/// backward. A look-up in a table of its own is no product.
struct ProductFlops {
  double weights = 0;
  double attention = 0;  ///< full square
  double seen = 0;       ///< of it without what a window leaves out, as model_flops_per_token() counts
  /// Those that a kernel computes which leaves out what a window or causal attention masks.
  [[nodiscard]] double least(bool causal) const { return weights + seen / (causal ? 2 : 1); }
};
ProductFlops product_flops_per_token(const Architecture& a, int sequence);

}  // namespace trnplan::models
