// Hugging Face's model types: spelling and implied features of models::Architecture, as data for the reader
// (hf_config.cpp) and the writer (hf_config_json.cpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/architecture.h"
#include "text/document.h"

namespace trnplan::io {

inline constexpr int kNoWindow = -1;

/// Implications of a model_type: the features of the model, the names of its keys and the values that it does
/// not write. A row without further statements is a Llama.
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
  bool asked_window = false;      ///< there is none unless use_sliding_window is set
  bool layer_types = false;       ///< reads layer_types: the layers with a window
  int full_every = 0;             ///< else sliding_window_pattern: each N-th has none; 0: all have it
  int windows_from = 0;           ///< else max_window_layers: layers from it on have one; 0: all have it
  bool grouped = true;            ///< reads num_key_value_heads and head_dim
  bool states_head_dim = false;   ///< head_dim does not follow from hidden_size
  bool flash = true;              ///< value for training if the config does not state it
  bool pretraining_tp = false;
  bool gpt2_keys = false;
  std::string_view epsilon = "rms_norm_eps", rope = "rope_theta";
  bool qkv_bias = false;          ///< biases of queries, keys and values alone
  bool qk_norm = false;           ///< norms of queries and keys
  bool attention_bias = false;    ///< reads attention_bias: of queries, keys, values and the output
  bool attention_biased = false;  ///< its default
  bool mlp_bias = false;          ///< reads mlp_bias
  int norms = 2;                  ///< of a token's hidden vector, per layer
  bool expert_bias = false;       ///< biases of experts and router
  bool sinks = false;             ///< a learned score of each head
  bool latent = false;            ///< reads the ranks of latent attention
  bool text_part = false;         ///< its keys are in text_config
  std::string_view untimed;       ///< reason why its steps are not timed; "": they are
};

/// All known dialects; the first is Llama's. A new family is a row here (CONTRIBUTING.md, "A model family").
std::span<const Dialect> dialects();

/// "llama, mistral, ...".
std::string known_model_types();

/// The first row with the model's features; Llama's if there is none. Not for models without a time.
const Dialect& dialect_of(const models::Architecture& a);

/// Reads experts, biases, latent attention and other features that Llama lacks into a.experts and a.blocks.
/// Call it after the sizes are read; faults go to `map`.
void read_blocks(MapReader& map, const Dialect& d, models::Architecture& a);

/// Notes on `a` from read_blocks(): why its parameters are counted alone, and what the count leaves out.
/// Sentences without a full stop.
void note_blocks(MapReader& map, const Dialect& d, const models::Architecture& a,
                 std::vector<std::string>& notes);

}  // namespace trnplan::io
