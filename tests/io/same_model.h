// Comparison of architectures.
#pragma once

#include "models/architecture/architecture.h"

namespace trnplan::models {

/// True if they are equal except for the name, the scaling of positions and the source file.
inline bool same_model(const Architecture& a, const Architecture& b) {
  return a.norm == b.norm && a.causal == b.causal && a.token_types == b.token_types &&
         a.sliding_window == b.sliding_window && a.sliding_window_pattern == b.sliding_window_pattern &&
         a.qkv_bias == b.qkv_bias && a.qk_norm == b.qk_norm && a.layers == b.layers && a.hidden == b.hidden &&
         a.intermediate == b.intermediate && a.heads == b.heads && a.kv_heads == b.kv_heads &&
         a.head_dim == b.head_dim && a.vocabulary == b.vocabulary && a.max_positions == b.max_positions &&
         a.mlp == b.mlp && a.tied_embeddings == b.tied_embeddings &&
         a.learned_positions == b.learned_positions && a.biases == b.biases && a.rope_theta == b.rope_theta &&
         a.rms_norm_eps == b.rms_norm_eps && a.experts == b.experts && a.blocks == b.blocks &&
         a.experts_per_token == b.experts_per_token;
}

}  // namespace trnplan::models
