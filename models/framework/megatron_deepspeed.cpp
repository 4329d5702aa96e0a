#include "models/framework/megatron_deepspeed.h"

#include "models/framework/megatron.h"

namespace trnplan::models {

namespace {

/// allgather_bucket_size and reduce_bucket_size: 5e8 elements (DeepSpeed runtime/zero/config.py).
constexpr double kBucketElements = 5e8;
constexpr double kElementBytes = 2;

}  // namespace

/// False: its attention is two products with a softmax between them.
bool MegatronDeepSpeed::has_flash_attention(const Architecture&) const {
  return false;
}

bool MegatronDeepSpeed::fuses_softmax(const ScoreShape& scores) const {
  return fused_softmax_takes(scores);
}

bool MegatronDeepSpeed::overlaps_layers(const Strategy&) const {
  return false;
}

/// Launches by the host: one pass of the training loop for a micro-batch; in a pipeline, one for each pass of
/// a stage.
PassLaunches MegatronDeepSpeed::launches(const Strategy& s) const {
  if (s.pipeline_parallel == 1) return {Launch::graph, Launch::none, Launch::none};
  return {Launch::task, Launch::task, Launch::none};
}

std::vector<int> MegatronDeepSpeed::partition(const Architecture& a, int parts) const {
  const bool even = a.layers % parts == 0 || parts > (a.layers + 2) / 2;
  const int all = even ? a.layers : a.layers + 2;
  std::vector<int> layers(static_cast<std::size_t>(parts), all / parts);
  for (int i = 0; i < all % parts; ++i) ++layers[static_cast<std::size_t>(i)];
  if (!even) {
    --layers.front();
    --layers.back();
  }
  return layers;
}

/// Bytes that the optimizer moves: gradient read 4, master weight and both moments read and written 24,
/// weight written 2. FP16: its gradient is copied into fp32, 6, and unscaled, 8, first.
StateBytes MegatronDeepSpeed::state_bytes(const Strategy& s) const {
  if (!s.zero1) return {2, 2, 12, 0, 6, 34, 0};
  if (!options_.sums_in_fp32) return {2, 2, 12, 4, 6, 4, 44};
  return {.parameter = 2,
          .gradient = 4,
          .shard = 12,
          .reduced = 0,
          .accumulate = 10,
          .update = 4,
          .update_shard = 30,
          .pass = 2,
          .keeps_pass = true,
          .copied = 2};
}

Exchange MegatronDeepSpeed::gradients(const Strategy& s) const {
  const Bytes bucket(kElementBytes * kBucketElements);
  if (!s.zero1) return {CollectiveOp::all_reduce, ProcessGroup::replicas, kElementBytes, bucket};
  return {CollectiveOp::reduce_scatter, ProcessGroup::data, kElementBytes, bucket};
}

/// Scalars: the norm of the gradients over the model's ranks, overflows over all ranks.
ScalarReduces MegatronDeepSpeed::scalars(const Strategy&) const {
  return {3, 2};
}

std::optional<Exchange> MegatronDeepSpeed::weights(const Strategy& s) const {
  if (!s.zero1) return std::nullopt;
  return Exchange{CollectiveOp::all_gather, ProcessGroup::data, kElementBytes,
                  Bytes(kElementBytes * kBucketElements)};
}

Bytes MegatronDeepSpeed::optimizer_buffers(const Strategy& s, double /*largest_weight*/) const {
  return s.zero1 ? Bytes(kElementBytes * kBucketElements) : Bytes{};
}

}  // namespace trnplan::models
