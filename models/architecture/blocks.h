// What the layers of some families have beyond those of a Llama: weights that are counted.
#pragma once

#include <string>

namespace trnplan::models {

/// Multi-head latent attention (DeepSeek-AI 2024, DeepSeek-V2, section 2.1): queries, and keys with values, go
/// through a low rank each. Names follow the HF config.json keys.
struct LatentAttention {
  int query_rank = 0;      ///< q_lora_rank; 0 = the queries have none
  int key_value_rank = 0;  ///< kv_lora_rank; 0 = ordinary attention
  int plain_dim = 0;       ///< qk_nope_head_dim: of a head's query and key, without positions
  int rotary_dim = 0;      ///< qk_rope_head_dim: with positions; one key of them for all heads
  int value_dim = 0;       ///< v_head_dim
  bool operator==(const LatentAttention&) const = default;
};

/// Parts of a layer. All default: a layer of Llama, Mistral, Qwen or Mixtral.
struct Blocks {
  bool output_bias = false;     ///< of the product behind attention
  bool mlp_bias = false;        ///< of gate, up and down of a dense MLP
  bool expert_bias = false;     ///< of the same of each expert, and of the router (gpt-oss)
  bool sinks = false;           ///< a learned score of each head that no token has (gpt-oss)
  int norms = 2;                ///< of a token's hidden vector, a layer (Gemma 2 and 3: 4)
  int dense_layers = 0;         ///< of a mixture: layers with one dense MLP instead (DeepSeek-V3: 3)
  int dense_intermediate = 0;   ///< width of those
  int shared_intermediate = 0;  ///< of a mixture: width of the experts that every token goes to, together
  LatentAttention latent;
  /// Why memory and time of such a model are not predicted, as the end of "not modelled: "; "" = they are.
  std::string untimed;
  bool operator==(const Blocks&) const = default;
};

}  // namespace trnplan::models
