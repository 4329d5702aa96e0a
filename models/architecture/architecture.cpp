#include "models/architecture/architecture.h"

namespace trnplan::models {

bool is_llama_like(const Architecture& a) {
  return a.causal && a.norm == Norm::rms && !a.learned_positions;
}

std::int64_t parameters(const Architecture& a) {
  const std::int64_t h = a.hidden, f = a.intermediate, q = std::int64_t{a.heads} * a.head_dim,
                     kv = a.kv_dim();
  std::int64_t attention = h * q + 2 * h * kv + q * h;
  std::int64_t mlp = (a.mlp == Mlp::gated ? 3 : 2) * h * f;
  if (a.experts > 0) mlp = mlp * a.experts + h * a.experts;  // every expert, and the router
  std::int64_t norms = 2 * h;
  if (a.biases) {
    attention += q + 2 * kv + h;
    mlp += f + h;
    norms *= 2;  // layer norm has a bias
  }
  if (a.qkv_bias && !a.biases) attention += q + 2 * kv;
  if (a.qk_norm) norms += 2 * a.head_dim;
  std::int64_t total = a.layers * (attention + mlp + norms);
  total += std::int64_t{a.vocabulary} * h * (a.tied_embeddings ? 1 : 2);
  total += a.biases ? 2 * h : h;  // final norm (BERT: the embedding norm)
  if (a.learned_positions) total += std::int64_t{a.max_positions} * h;
  total += std::int64_t{a.token_types} * h;
  return total;
}

double six_n_flops_per_token(const Architecture& a) {
  Architecture active = a;
  if (a.experts > 0) active.experts = a.experts_per_token;
  return 6.0 * static_cast<double>(parameters(active));
}

double model_flops_per_token(const Architecture& a, int sequence) {
  return six_n_flops_per_token(a) + 12.0 * a.layers * static_cast<double>(a.heads) * a.head_dim * sequence;
}

}  // namespace trnplan::models
