// Operators of one core for attention, with the products around it.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "models/framework/framework.h"
#include "models/operators/operators.h"

namespace trnplan::models {

/// Attention over `blocks` of s x s scores: less than one if the kernel skips some (scored_share).
Operator LayerModel::attention_block_of(double units, double bytes_per_score, double blocks) const {
  const AttentionShape shape{heads_,    static_cast<double>(s_.micro_batch),
                             sequence_, static_cast<double>(a_.head_dim),
                             units,     blocks};
  if (s_.flash_attention) {
    Operator op = operator_of("attention", device_.flash_attention(on_, shape));
    op.attention = shape;
    return op;
  }
  const double scores = heads_ * s_.micro_batch * sequence_ * sequence_ * blocks;
  const Bytes traffic(bytes_per_score * element_bytes_ / 2 * scores);
  return operator_of("attention", device_.plain_attention(on_, shape, traffic));
}

namespace {

/// The share of a square of `tokens` x `tokens` scores that is computed: the square of the queries' own
/// tokens (block 0), or the one `block` squares before it. A kernel skips the scores after a token and before
/// its window (0: none); without a kernel the scores of a window are a band.
double scored_share(int window, bool causal, bool flash, bool balanced, double tokens, int block) {
  if (!flash) return window > 0 ? std::min(1.0, window / tokens) : 1.0;
  if (window == 0) return (block == 0 || balanced) && causal ? 0.5 : 1.0;
  const auto until = [&](int blocks) { return causal_scores(blocks * tokens, window); };
  // Scores of the last block's queries: with all blocks up to this one, less those up to the next one.
  const double to_here = until(block + 1) - until(block);
  const double nearer = block == 0 ? 0.0 : until(block) - until(block - 1);
  return (to_here - nearer) / (tokens * tokens);
}

/// Adds `share` of an operator to the mean of several on the same resource; the shape of the first remains.
void add_share(std::optional<Operator>& mean, Operator one, double share) {
  one.seconds = one.seconds * share;
  one.flops = one.flops * share;
  one.instructions *= share;
  if (!mean) {
    mean = one;
    return;
  }
  mean->seconds += one.seconds;
  mean->flops += one.flops;
  mean->instructions += one.instructions;
}

}  // namespace

/// Appends attention. With context parallel it is that of the last rank: its own block, then every other one while the
/// next arrives, where the framework overlaps them. If all ranks have equally many scores, each block counts half.
/// Backward moves the gradients of K and V along. Blocks that a window hides start no kernel; the FLOPs of the others
/// count together as the model's own do (AttentionKind::seen). Layers that alternate between a window and none are all
/// timed as their mean: sums over the model are exact; a chunk is off by less than one layer's difference, and a
/// pipeline whose slowest chunk has more full layers than the mean is that much too fast.
void LayerModel::attention(OperatorList& list, double units, double bytes_per_score) const {
  const bool balanced = framework_of(s_).balances_context();
  const int ranks = s_.context_parallel;
  const auto share_of = [&](const AttentionKind& kind, int block) {
    return scored_share(kind.window, a_.causal, s_.flash_attention, balanced, sequence_, block);
  };
  const std::array<AttentionKind, 2> kinds = attention_kinds(a_);
  std::array<double, 2> shares{};
  for (std::size_t i = 0; i < kinds.size(); ++i)
    for (int block = 0; block < ranks; ++block) shares[i] += share_of(kinds[i], block);
  const bool overlaps = framework_of(s_).overlaps_layers(s_);
  const double keys = framework_of(s_).repeats_keys() ? heads_ * a_.head_dim : kv_width_ / 2;
  for (int block = 0; block < ranks; ++block) {
    if (block + 1 < ranks) {
      const double tensors = units > 2 ? 4 : 2;
      list.push_back({.name = "ring attention K, V",
                      .category = Category::context_parallel,
                      .process_group = ProcessGroup::context,
                      .op = CollectiveOp::permute,
                      .bytes = Bytes(tensors * element_bytes_ * tokens_ * keys),
                      .overlapped = overlaps});
    }
    std::optional<Operator> mean;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const double share = kinds[i].share > 0 ? share_of(kinds[i], block) : 0;
      if (share <= 0) continue;
      Operator one = attention_block_of(units, bytes_per_score, share);
      const double seen = kinds[i].seen(sequence_ * ranks);
      if (seen < 1) one.flops = one.flops * (ranks * seen * share / std::ceil(share) / shares[i]);
      add_share(mean, one, kinds[i].share);
    }
    if (mean) list.push_back(*mean);
  }
}

void LayerModel::attention_block(OperatorList& list) const {
  enter(list, "qkv input");
  linear_after_gather(list, "qkv", tokens_, a_.hidden, qkv_width_);
  if (a_.qk_norm)
    list.push_back(elements("norm of heads", kNorm, tokens_, heads_ * a_.head_dim + kv_width_ / 2));
  if (!a_.learned_positions)
    list.push_back(elements("rotary", kinds_.rotary, tokens_, heads_ * a_.head_dim + kv_width_ / 2));
  attention(list, kFlashUnitsForward, score_bytes_.forward);
  list.push_back(linear("o_proj", tokens_, heads_ * a_.head_dim, a_.hidden));
  leave(list, "o_proj output");
}

}  // namespace trnplan::models
