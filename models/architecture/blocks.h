// Parts of the layers of some families that a Llama lacks and that have weights.
#pragma once

#include <string>

namespace trnplan::models {

/// Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, section 2.1): queries go through one low rank,
/// keys together with values through another. Names follow the HF config.json keys.
struct LatentAttention {
  int query_rank = 0;      ///< q_lora_rank; 0 = full-rank queries
  int key_value_rank = 0;  ///< kv_lora_rank; 0 = ordinary attention
  int plain_dim = 0;       ///< qk_nope_head_dim: part of a head's query and key without positions
  int rotary_dim = 0;      ///< qk_rope_head_dim: part with positions; all heads share one such key
  int value_dim = 0;       ///< v_head_dim
  bool operator==(const LatentAttention&) const = default;
};

/// Parts of a layer. The defaults are a layer of Llama, Mistral, Qwen or Mixtral.
struct Blocks {
  bool output_bias = false;     ///< of the product after attention
  bool mlp_bias = false;        ///< of gate, up and down of a dense MLP
  bool expert_bias = false;     ///< of gate, up and down of each expert, and of the router (gpt-oss)
  bool sinks = false;           ///< a learned score of each head that belongs to no token (gpt-oss)
  int norms = 2;                ///< per layer, of a token's hidden vector (Gemma 2 and 3: 4)
  int dense_layers = 0;         ///< of a mixture: layers with one dense MLP instead (DeepSeek-V3: 3)
  int dense_intermediate = 0;   ///< width of these dense MLPs
  int shared_intermediate = 0;  ///< of a mixture: total width of the experts that every token goes to
  LatentAttention latent;
  /// The reason why memory and time of such a model are not predicted, as the end of "not modelled: "; "" =
  /// they are predicted.
  std::string untimed;
  bool operator==(const Blocks&) const = default;
};

}  // namespace trnplan::models
