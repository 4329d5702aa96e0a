// Operators of one core for attention, with the products around it.
#include <algorithm>
#include <cmath>

#include "models/framework/framework.h"
#include "models/operators/operators.h"

namespace trnplan::models {

/// Appends attention over `blocks` of s x s scores: less than one if the kernel skips some (scored_share).
void LayerModel::attention_block_of(OperatorList& list, double units, double bytes_per_score,
                                    double blocks) const {
  const AttentionShape shape{heads_,    static_cast<double>(s_.micro_batch),
                             sequence_, static_cast<double>(a_.head_dim),
                             units,     blocks};
  if (s_.flash_attention) {
    list.push_back(operator_of("attention", device_.flash_attention(on_, shape)));
    list.back().attention = shape;
  } else {
    const double scores = heads_ * s_.micro_batch * sequence_ * sequence_ * blocks;
    const Bytes traffic(bytes_per_score * element_bytes_ / 2 * scores);
    list.push_back(operator_of("attention", device_.plain_attention(on_, shape, traffic)));
  }
}

namespace {

/// The share of a square of `tokens` x `tokens` scores that is computed: the square of the queries' own
/// tokens (block 0), or the one `block` squares before it. A kernel skips the scores after a token and before
/// its window; without a kernel the scores of a window are a band.
double scored_share(const Architecture& a, bool flash, bool balanced, double tokens, int block) {
  const bool window = a.causal && a.sliding_window > 0;
  if (!flash) return window ? std::min(1.0, a.sliding_window / tokens) : 1.0;
  if (!window) return (block == 0 || balanced) && a.causal ? 0.5 : 1.0;
  const auto until = [&](int blocks) { return causal_scores(blocks * tokens, a.sliding_window); };
  // Scores of the last block's queries: with all blocks up to this one, less those up to the next one.
  const double to_here = until(block + 1) - until(block);
  const double nearer = block == 0 ? 0.0 : until(block) - until(block - 1);
  return (to_here - nearer) / (tokens * tokens);
}

}  // namespace

/// Appends attention. With context parallel it is that of the last rank: its own block, then every other one while the
/// next arrives, where the framework overlaps them. If all ranks have equally many scores, each block counts half.
/// Backward moves the gradients of K and V along. Blocks that a window hides start no kernel; the FLOPs of the others
/// count together as the model's own do (seen_share).
void LayerModel::attention(OperatorList& list, double units, double bytes_per_score) const {
  const bool balanced = framework_of(s_).balances_context();
  const int ranks = s_.context_parallel;
  const double seen = seen_share(a_, sequence_ * ranks);
  double shares = 0;
  for (int block = 0; block < ranks; ++block)
    shares += scored_share(a_, s_.flash_attention, balanced, sequence_, block);
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
    const double share = scored_share(a_, s_.flash_attention, balanced, sequence_, block);
    if (share <= 0) continue;
    attention_block_of(list, units, bytes_per_score, share);
    if (seen < 1) list.back().flops = list.back().flops * (ranks * seen * share / std::ceil(share) / shares);
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
