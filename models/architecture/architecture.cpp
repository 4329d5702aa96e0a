#include "models/architecture/architecture.h"

namespace trnplan::models {

bool is_llama_like(const Architecture& a) {
  return a.causal && a.norm == Norm::rms && !a.learned_positions;
}

bool has_linear_biases(const Architecture& a) {
  return a.biases || a.qkv_bias || a.blocks.output_bias || a.blocks.mlp_bias || a.blocks.expert_bias;
}

namespace {

/// Parameters of latent attention, with a norm after each low rank.
std::int64_t latent_attention(const LatentAttention& l, std::int64_t h, std::int64_t heads) {
  const std::int64_t query = heads * (l.plain_dim + l.rotary_dim), q = l.query_rank, kv = l.key_value_rank;
  const std::int64_t queries = q > 0 ? h * q + q + q * query : h * query;
  const std::int64_t values = heads * l.value_dim;
  return queries + h * (kv + l.rotary_dim) + kv + kv * (heads * l.plain_dim + values) + values * h;
}

std::int64_t attention(const Architecture& a) {
  const std::int64_t h = a.hidden, q = std::int64_t{a.heads} * a.head_dim, kv = a.kv_dim();
  if (a.blocks.latent.key_value_rank > 0) return latent_attention(a.blocks.latent, h, a.heads);
  std::int64_t all = h * q + 2 * h * kv + q * h;
  if (a.biases || a.qkv_bias) all += q + 2 * kv;
  if (a.biases || a.blocks.output_bias) all += h;
  if (a.blocks.sinks) all += a.heads;
  return all;
}

std::int64_t mlp_of_width(const Architecture& a, std::int64_t width, bool bias) {
  const std::int64_t entering = a.mlp == Mlp::gated ? 2 : 1, h = a.hidden;
  return (entering + 1) * h * width + (bias ? entering * width + h : 0);
}

/// Parameters of `experts` experts of a mixture, and of `routed` rows of its router.
std::int64_t mixture(const Architecture& a, std::int64_t experts, std::int64_t routed) {
  const std::int64_t h = a.hidden, router = routed * (a.blocks.expert_bias ? h + 1 : h);
  return experts * mlp_of_width(a, a.intermediate, a.blocks.expert_bias) + router +
         mlp_of_width(a, a.blocks.shared_intermediate, false);
}

std::int64_t all_layers(const Architecture& a, std::int64_t experts, std::int64_t routed) {
  const std::int64_t h = a.hidden, dense = a.blocks.dense_layers;
  const bool bias = a.biases || a.blocks.mlp_bias;
  std::int64_t norms = a.blocks.norms * h * (a.biases ? 2 : 1);  // layer norm has a bias
  if (a.qk_norm) norms += std::int64_t{2} * a.head_dim;
  const std::int64_t mlps = a.experts > 0 ? dense * mlp_of_width(a, a.blocks.dense_intermediate, bias) +
                                                (a.layers - dense) * mixture(a, experts, routed)
                                          : a.layers * mlp_of_width(a, a.intermediate, bias);
  return a.layers * (attention(a) + norms) + mlps;
}

std::int64_t total(const Architecture& a, std::int64_t experts, std::int64_t routed) {
  const std::int64_t h = a.hidden;
  std::int64_t all = all_layers(a, experts, routed);
  all += std::int64_t{a.vocabulary} * h * (a.tied_embeddings ? 1 : 2);
  all += a.biases ? 2 * h : h;  // final norm (BERT: the embedding norm)
  if (a.learned_positions) all += std::int64_t{a.max_positions} * h;
  return all + std::int64_t{a.token_types} * h;
}

}  // namespace

std::int64_t parameters(const Architecture& a) {
  return total(a, a.experts, a.experts);
}

std::int64_t active_parameters(const Architecture& a) {
  return total(a, a.experts_per_token, a.experts);
}

double six_n_flops_per_token(const Architecture& a) {
  return 6.0 * static_cast<double>(total(a, a.experts_per_token, a.experts_per_token));
}

double causal_scores(double tokens, double window) {
  return window < tokens ? tokens * window - window * window / 2 : tokens * tokens / 2;
}

namespace {

/// Training FLOPs of attention to `seen` tokens.
double attention_flops(const Architecture& a, double seen) {
  return 12.0 * a.layers * static_cast<double>(a.heads) * a.head_dim * seen;
}

}  // namespace

int windowed_layers(const Architecture& a) {
  if (a.sliding_window == 0) return 0;
  return a.sliding_window_pattern > 0 ? a.layers - a.layers / a.sliding_window_pattern : a.layers;
}

bool pattern_has_window(const Architecture& a, int layer) {
  return a.sliding_window_pattern == 0 || layer % a.sliding_window_pattern != 0;
}

bool alternates_windows(const Architecture& a) {
  const int windowed = windowed_layers(a);
  return windowed > 0 && windowed < a.layers;
}

bool has_window(const Architecture& a, int sequence) {
  return windowed_layers(a) > 0 && a.sliding_window < sequence;
}

double AttentionKind::seen(double tokens) const {
  return window > 0 ? 2 * causal_scores(tokens, window) / (tokens * tokens) : 1;
}

std::array<AttentionKind, 2> attention_kinds(const Architecture& a) {
  const int windowed = a.causal ? windowed_layers(a) : 0;
  if (windowed == 0) return {AttentionKind{0, 1}, AttentionKind{}};
  const double share = static_cast<double>(windowed) / a.layers;
  return {AttentionKind{0, 1 - share}, AttentionKind{a.sliding_window, share}};
}

double seen_share(const Architecture& a, double tokens) {
  double seen = 0;
  for (const AttentionKind& kind : attention_kinds(a)) seen += kind.share * kind.seen(tokens);
  return seen;
}

double model_flops_per_token(const Architecture& a, int sequence) {
  return six_n_flops_per_token(a) + attention_flops(a, sequence * seen_share(a, sequence));
}

ProductFlops product_flops_per_token(const Architecture& a, int sequence) {
  const double table = a.tied_embeddings ? 0 : 6.0 * static_cast<double>(a.vocabulary) * a.hidden;
  const double all = six_n_flops_per_token(a);
  return {all - table, attention_flops(a, sequence), model_flops_per_token(a, sequence) - all};
}

}  // namespace trnplan::models
