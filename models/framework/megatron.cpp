#include "models/framework/megatron.h"

#include <algorithm>

#include "units/index.h"

namespace trnplan::models {

namespace {

/// Parameters of a bucket: 40 M, or 1 M for each data-parallel rank if that is more
/// (distributed/distributed_data_parallel.py).
constexpr double kBucketParameters = 40e6, kBucketParametersPerRank = 1e6;

double bucket_parameters(const Strategy& s) {
  const double ranks = static_cast<double>(s.data_parallel) * s.context_parallel;
  return std::max(kBucketParameters, kBucketParametersPerRank * ranks);
}

/// Ranks that share one copy of the states.
ProcessGroup sharers(const Strategy& s) {
  return s.shard_ranks > 0 ? ProcessGroup::shard : ProcessGroup::data;
}

}  // namespace

bool fused_softmax_takes(const ScoreShape& scores) {
  const bool sizes = !scores.fp32 && scores.keys > 16 && scores.keys <= 4096 && scores.keys % 4 == 0 &&
                     scores.queries % 4 == 0 && scores.squares % 4 == 0;
  const int rows_of_block = scores.keys > 128 ? 4 : 8;
  return sizes && (scores.causal ? scores.squares : scores.queries) % rows_of_block == 0;
}

std::optional<TensorOverlap> MegatronOptions::overlap_of(const Strategy& s) const {
  return s.sequence_parallel && s.tensor_parallel > 1 ? tensor_overlap : std::nullopt;
}

std::optional<TensorOverlap> Megatron::tensor_overlap(const Strategy& s) const {
  return options_.overlap_of(s);
}

std::vector<int> Megatron::partition(const Architecture& a, int parts) const {
  if (parts < 2 || a.layers % parts == 0) return Nxd::partition(a, parts);
  if (options_.ends_count_as_layers && (a.layers + 2) % parts == 0) {
    std::vector<int> layers(at(parts), (a.layers + 2) / parts);
    --layers.front();
    --layers.back();
    return layers;
  }
  // The most equal parts: between the ends the mean rounded up if that leaves each end a layer, else rounded
  // down.
  for (const int middle : {a.layers / parts + 1, a.layers / parts}) {
    const int ends = a.layers - middle * (parts - 2);
    if (middle < 1 || ends < 2) continue;
    std::vector<int> layers(at(parts), middle);
    layers.front() = (ends + 1) / 2;
    layers.back() = ends / 2;
    return layers;
  }
  return Nxd::partition(a, parts);
}

std::vector<int> Megatron::chunk_partition(const Architecture& a, int stages, int chunks) const {
  const int parts = stages * chunks;
  if (chunks < 2 || a.layers % parts == 0) return partition(a, parts);
  const int counted = parts - a.layers % parts;  // the loss, or embedding and loss
  if (counted <= 2 && a.layers >= parts - 2) {
    std::vector<int> layers(at(parts), a.layers / parts + 1);
    --layers.back();
    if (counted == 2) --layers.front();
    return layers;
  }
  if (a.layers % chunks != 0) return {};
  Architecture chunk = a;
  chunk.layers /= chunks;
  const std::vector<int> of_stage = partition(chunk, stages);
  std::vector<int> layers;
  for (int i = 0; i < chunks; ++i) layers.insert(layers.end(), of_stage.begin(), of_stage.end());
  return layers;
}

/// Assertions of megatron/core/transformer/transformer_config.py, __post_init__ (NVIDIA/Megatron-LM@d98e8a64).
Lack Megatron::experts_overlap_lack(const Strategy& s) const {
  if (!options_.overlaps_experts) return {};
  if (s.expert_parallel == 1) return {"without expert parallel", "an ep of 2 or more, or another framework"};
  if (s.pipeline_parallel > 1 && s.virtual_pipeline == 1)
    return {"in a pipeline without virtual stages", "a vpp of 2 or more, or pp=1"};
  if (s.recompute.full || s.recompute.mlp) return {"with experts recomputed", "recompute=none"};
  if (s.precision == Precision::fp32) return {"in FP32", "precision=mixed_precision"};
  return {};
}

PassLaunches Megatron::launches(const Strategy& s) const {
  if (s.pipeline_parallel == 1) return {Launch::graph, Launch::none, Launch::none};
  return {Launch::task, Launch::task, Launch::none};
}

/// Moved bytes. The product adds its gradient to the sum: it reads and writes the sum. Each step the sums are
/// set to zero; the optimizer reads them, reads and writes master weights and moments, 24, and writes the
/// weights, 2. FP8 weights are kept for all micro-batches of a step as they are and transposed, 2
/// (is_first_microbatch, core/extensions/transformer_engine.py), in addition to those in 16 bits unless the
/// recipe stores no others (--fp8-param-gather). Once a step they are cast: the greatest magnitude, read,
/// written twice, 6. In fp32 the optimizer reads and writes the weights themselves.
StateBytes Megatron::state_bytes(const Strategy& s) const {
  if (s.precision == Precision::fp32)
    return s.zero1 ? StateBytes{4, 4, 8, 0, 8, 4, 28} : StateBytes{4, 4, 8, 0, 8, 32, 0};
  const double sum = options_.gradient_bytes, kept = s.precision == Precision::fp8 ? 4 : 2;
  const double cast = options_.keeps_fp8_weights && is_fp8(s.precision) ? 6 : 0;
  if (s.zero1) return {kept, sum, 12, 0, 2 * sum, sum + cast, sum + 26};
  return {kept, sum, 12, 0, 2 * sum, 2 * sum + 26 + cast, 0};
}

/// Forward: 2 for the logits, 4 for the copy that becomes the softmax. Backward: 4 for the gradient in its
/// place, 2 for the gradient for the head's products. In fp32 all are made in the place of the logits.
KeptLogits Megatron::kept_logits(Precision p) const {
  if (options_.loss) return options_.loss->in(p).kept;
  return p == Precision::fp32 ? KeptLogits{4, 4} : KeptLogits{6, 6};
}

Exchange Megatron::gradients(const Strategy& s) const {
  const Bytes bucket(gradient_bytes(s) * bucket_parameters(s));
  if (!s.zero1) return {CollectiveOp::all_reduce, ProcessGroup::replicas, gradient_bytes(s), bucket};
  return {CollectiveOp::reduce_scatter, sharers(s), gradient_bytes(s), bucket};
}

std::optional<Exchange> Megatron::copies(const Strategy& s) const {
  if (!s.zero1 || s.shard_ranks == 0) return std::nullopt;
  return Exchange{CollectiveOp::all_reduce, ProcessGroup::shard_copies, gradient_bytes(s),
                  Bytes(gradient_bytes(s) * bucket_parameters(s) / s.shard_ranks)};
}

/// The norm of the gradients is reduced over all ranks, the loss over data-parallel ranks.
ScalarReduces Megatron::scalars(const Strategy&) const {
  return {2, 2};
}

std::optional<Exchange> Megatron::weights(const Strategy& s) const {
  if (!s.zero1) return std::nullopt;
  Exchange e{CollectiveOp::all_gather, sharers(s), element_bytes(s.precision),
             Bytes(element_bytes(s.precision) * bucket_parameters(s))};
  if (s.precision == Precision::fp8_param_gather) e.of_layers = 0.5;
  return e;
}

}  // namespace trnplan::models
