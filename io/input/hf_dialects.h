// How each model_type of Hugging Face spells and implies the features of models::Architecture: data for the
// reader (hf_config.cpp) and the writer (hf_config_json.cpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/architecture.h"
#include "text/document.h"

namespace trnplan::io {

inline constexpr int kNoWindow = -1;

/// What a model_type implies: the features of the model, the names of its keys and what it does not write down.
/// A row that says nothing more is a Llama.
struct Dialect {
  std::string_view type;
  std::string_view architecture;  ///< class name in `architectures`
  models::Mlp mlp = models::Mlp::gated;
  models::Norm norm = models::Norm::rms;
  bool learned_positions = false;
  bool biases = false;
  bool tied = false;  ///< default of tie_word_embeddings
  bool causal = true;
  int token_types = 0;            ///< default of type_vocab_size; 0: it has no such table
  std::string_view experts;       ///< key of their number; "": it has none
  std::string_view expert_width;  ///< key of the width of one; "": intermediate_size
  int window = kNoWindow;         ///< default of sliding_window, 0: none; kNoWindow: the key means nothing
  bool windows_from = false;      ///< use_sliding_window and max_window_layers say which layers have one
  bool grouped = true;            ///< reads num_key_value_heads and head_dim
  bool states_head_dim = false;   ///< whose head_dim does not follow from hidden_size
  bool flash = true;              ///< what a config that does not say it trains with
  bool pretraining_tp = false;
  bool gpt2_keys = false;
  std::string_view epsilon = "rms_norm_eps", rope = "rope_theta";
  bool qkv_bias = false;        ///< biases of queries, keys and values alone
  bool qk_norm = false;         ///< norms of queries and keys
  bool attention_bias = false;  ///< reads attention_bias: of queries, keys, values and the output
  bool mlp_bias = false;        ///< reads mlp_bias
  int norms = 2;                ///< of a token's hidden vector, a layer
  bool expert_bias = false;     ///< biases of experts and router
  bool sinks = false;           ///< a learned score of each head
  bool latent = false;          ///< reads the ranks of latent attention
  bool text_part = false;       ///< its keys stand in text_config
  std::string_view untimed;     ///< why no step of it is timed; "": they are
};

/// All that are known; the first is Llama's. A new family is a row here (CONTRIBUTING.md, "A model family").
std::span<const Dialect> dialects();

/// "llama, mistral, ...".
std::string known_model_types();

/// The first row that has the model's features; Llama's where none has. Not for models without a time.
const Dialect& dialect_of(const models::Architecture& a);

/// Experts, biases, latent attention and what else is no Llama's: into a.experts and a.blocks. After the
/// sizes; faults go to `map`.
void read_blocks(MapReader& map, const Dialect& d, models::Architecture& a);

/// What of read_blocks a dialect's config says of `a`, that is why it is counted alone, and what it leaves out
/// of the count: sentences without a full stop.
void note_blocks(MapReader& map, const Dialect& d, const models::Architecture& a,
                 std::vector<std::string>& notes);

}  // namespace trnplan::io
