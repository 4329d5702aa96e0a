#include "models/framework/nxd.h"

#include <algorithm>

namespace trnplan::models {

namespace {

/// Bucket of plain data parallel (ALLREDUCE_BUCKET_CAP_MB; aws-neuron/neuronx-distributed
/// src/neuronx_distributed/parallel_layers/grads.py).
constexpr double kAllReduceBucketBytes = 512e6;
/// Bytes on the device of a megabyte of ZeRO-1's cap, which counts elements of 8 bytes that have 4 on the
/// device.
constexpr double kBytesPerBucketMegabyte = 0.5e6;

/// NxD's ZeRO-1 buckets on the device. The cap (Strategy::bucket_mb) counts 8-byte doubles that have 4 bytes
/// there; the all-gather's cap is max(1, cap / D) MB of each rank's shard (aws-neuron/neuronx-distributed
/// src/neuronx_distributed/trainer/trainer.py; docs/models.md, "Buckets").
Bytes scatter_bucket(const Strategy& s) {
  return Bytes(kBytesPerBucketMegabyte * s.bucket_mb);
}

Bytes gather_bucket(const Strategy& s) {
  const int shards = std::max(1, s.data_ranks());
  return Bytes(kBytesPerBucketMegabyte * std::max(1, s.bucket_mb / shards) * shards);
}

}  // namespace

bool Nxd::runs(Schedule schedule) const {
  return schedule == Schedule::one_f_one_b || schedule == Schedule::interleaved;
}

/// True for models of modeling_llama.py, which calls the kernel
/// (aws-neuron/neuronx-distributed-training@9169aa03 models/hf_models/). The Megatron path has no kernel
/// (docs/general/known_issues.rst), nor do the scripts of other families
/// (aws-neuron/neuronx-distributed@fbac349 examples/training). Mixtral's configs ship without it.
bool Nxd::has_flash_attention(const Architecture& a) const {
  return is_llama_like(a) && a.experts == 0;
}

/// True with 1F1B: sends and receives are two-rank all-gathers. The order in which NxD pairs those of an
/// interleaved schedule is unknown.
bool Nxd::sends_block(const Strategy& s) const {
  return schedule_of(s).meets();
}

/// True for ring attention only: the next block of K and V arrives during the work on the current one.
bool Nxd::overlaps_layers(const Strategy& s) const {
  return s.context_parallel > 1;
}

/// Launches of graphs. Without a pipeline one graph has forward and backward of a micro-batch.
PassLaunches Nxd::launches(const Strategy& s) const {
  if (s.pipeline_parallel == 1) return {Launch::graph, Launch::none, Launch::none};
  return {Launch::task, Launch::task, Launch::task};
}

/// NxDT's keys: activations_checkpoint_granularity and activations_checkpoint_recompute.
RecomputeUnits Nxd::recomputed(const Strategy& s) const {
  const Recompute& r = s.recompute;
  return {.layer = r.full,
          .mlp = r.mlp,
          .product = r.activation_multiply,
          .norms = r.rms_norm,
          .scores = r.core_attention && !s.flash_attention};
}

/// Layers of each part. The remainder goes to the last parts, one layer each (aws-neuron/neuronx-distributed
/// src/neuronx_distributed/pipeline/partition.py).
std::vector<int> Nxd::partition(const Architecture& a, int parts) const {
  std::vector<int> layers(static_cast<std::size_t>(parts));
  for (int i = 0; i < parts; ++i) {
    const bool extra = i >= parts - a.layers % parts;
    layers[static_cast<std::size_t>(i)] = a.layers / parts + (extra ? 1 : 0);
  }
  return layers;
}

/// Bytes alive: aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py, pytorch/xla
/// zero_redundancy_optimizer.py; without ZeRO-1 the moments are fp32 (adamw_fp32OptState), bf16 with bf16SR.
StateBytes Nxd::state_bytes(const Strategy& s) const {
  const bool fp32 = s.precision == Precision::fp32, bf16 = s.precision == Precision::bf16_sr;
  if (s.zero1) {
    if (fp32) return {4, 4, 12, 4, 16, 16, 28};
    if (bf16) return {2, 2, 6, 2, 8, 8, 14};
    return {2, 4, 12, 4, 12, 12, 28};
  }
  if (fp32) return {4, 4, 8, 0, 16, 28, 0};
  if (bf16) return {2, 2, 4, 0, 8, 14, 0};
  return {2, 2, 8, 0, 8, 24, 0};
}

/// During the loss: bf16 logits, their fp32 copy, the shifted copy and the softmax. During the head's
/// gradients: the logits that the model returns in fp32, and their gradient in bf16.
KeptLogits Nxd::kept_logits(Precision) const {
  return {14, 6};
}

Exchange Nxd::gradients(const Strategy& s) const {
  if (!s.zero1)
    return {CollectiveOp::all_reduce, ProcessGroup::replicas, element_bytes(s.precision),
            Bytes(kAllReduceBucketBytes)};
  return {CollectiveOp::reduce_scatter, ProcessGroup::data, s.precision == Precision::bf16_sr ? 2.0 : 4.0,
          scatter_bucket(s)};
}

/// Number of tensors: fused QKV, output, fused gate and up, down, two norms (parallel_layers/grads.py).
int Nxd::tensors_per_layer() const {
  return 6;
}

/// Scalars: the gradient norm over tensor, data and pipeline groups; the loss over data and pipeline groups;
/// the norm of the parameters (log_parameter_norm, on in the shipped configs) over tensor and pipeline
/// groups. The last two run over context groups too. (aws-neuron/neuronx-distributed-training
/// utils/exp_manager.py; aws-neuron/neuronx-distributed parallel_layers/grads.py.)
ScalarReduces Nxd::scalars(const Strategy& s) const {
  const int context = s.context_parallel > 1 ? 2 : 0;
  return {3 + 2 + 2 + context, 2 + 2 + 1};
}

std::optional<Exchange> Nxd::weights(const Strategy& s) const {
  if (!s.zero1) return std::nullopt;
  return Exchange{CollectiveOp::all_gather, ProcessGroup::data, element_bytes(s.precision), gather_bucket(s)};
}

Bytes Nxd::optimizer_buffers(const Strategy& s, double largest_weight) const {
  if (!s.zero1) return {};
  return Bytes(std::max({scatter_bucket(s).value, gather_bucket(s).value, 4 * largest_weight}));
}

}  // namespace trnplan::models
