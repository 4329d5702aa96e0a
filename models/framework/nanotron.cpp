#include "models/framework/nanotron.h"

#include <limits>

namespace trnplan::models {

namespace {

/// Bytes of bf16 gradients at which torch's DistributedDataParallel closes a bucket: ddp_bucket_cap_mb of 25
/// (config/config.py; pytorch/pytorch@ad78a7b3 torch/csrc/distributed/c10d/reducer.cpp,
/// compute_bucket_assignment_by_size).
constexpr double kNanotronBucket = 25.0 * 1024 * 1024;

/// Bytes of a parameter's sum over those of its gradient in a bucket.
constexpr double kSumOverGradient = 4.0 / 2;

constexpr double kOneCall = std::numeric_limits<double>::infinity();

}  // namespace

PassLaunches Nanotron::launches(const Strategy& s) const {
  if (s.pipeline_parallel == 1) return {Launch::graph, Launch::none, Launch::none};
  return {Launch::task, Launch::task, Launch::none};
}

std::optional<TensorOverlap> Nanotron::tensor_overlap(const Strategy& s) const {
  if (!options_.overlaps_tensor || !s.sequence_parallel || s.tensor_parallel == 1) return std::nullopt;
  return TensorOverlap{.between_gradients = true, .own_piece = true, .across_nodes = true};
}

ElementKinds Nanotron::element_kinds() const {
  ElementKinds kinds;
  kinds.norm.streams = 5;
  kinds.norm_backward.streams = 6;
  kinds.rotary.streams = kinds.rotary_backward.streams = 10;
  kinds.gated.streams = 5;
  kinds.gated_backward.streams = 13;
  return kinds;
}

/// Two messages announce a tensor, its kind and its shape. A decoder layer gets hidden states and their mask
/// (models/llama.py, module_input_keys), of which the first have a gradient.
PolledMessages Nanotron::polled_messages() const {
  constexpr int kAnnounce = 2;
  return options_.polls ? PolledMessages{2 * kAnnounce, kAnnounce} : PolledMessages{};
}

/// Layers of each stage. The head costs as much as several layers of a small model, so the last stages may
/// get none.
std::vector<int> Nanotron::partition(const Architecture& a, int parts) const {
  const double h = a.hidden, layer = 4 * h * h + 3 * h * a.intermediate;
  const double total = layer * a.layers + h * a.vocabulary;
  std::vector<int> layers(static_cast<std::size_t>(parts), 0);
  std::size_t part = 0;
  for (int i = 0; i < a.layers; ++i) {
    ++layers[part];
    const double share = static_cast<double>(part + 1) / parts;
    if (layer * (i + 1) >= total * share && part + 1 < layers.size()) ++part;
  }
  return layers;
}

/// Kept (models/llama.py): the input of each norm as it is (nn/layer_norm.py, flash-attn's kernel) and its
/// output; keys and values joined, and attention's output. Queries are rotated in place
/// (Dao-AILab/flash-attention@09d422b1 flash_attn/layers/rotary.py, RotaryEmbedding), so that without grouped
/// queries the permuted copy of all three stays, of which they are a view. The output product reads a
/// transposed view, which is copied if a micro-batch has several sequences. Gate and up, the activated gate and
/// the product. The MLP's backward keeps the gradients of the product, of the activated gate, of up and of the
/// gate, 2 each, and gate and up joined, 4 (GLUActivation).
SavedBytes Nanotron::saved(const Architecture& a, const Strategy& s) const {
  SavedBytes saved = kFusedKernelsSave;
  saved.queries = saved.plain_queries = s.micro_batch > 1 ? 6 : 4;
  saved.keys = a.kv_heads == a.heads ? 8 : 4;
  saved.gated = 8;
  saved.gated_gradients = 12;
  return saved;
}

/// Bytes of gradients: the fp32 sums, 4, and with replicas the buckets of DistributedDataParallel, 2, which
/// ZeRO-1 does without (trainer.py, make_ddp). The gradients of a pass, 2, are all alive at its end, when its
/// activations are gone; then they are added up and dropped (optim/gradient_accumulator.py, backward).
/// Bytes moved: adding a gradient up reads it and reads and writes the sum. Of all sums the norm is taken, 4; they are
/// scaled, 8, and set to zero, 4 (optim/clip_grads.py; zero_grad). The optimizer reads the sum, 4, reads and writes
/// master weights and moments, 24; then a master weight is read, 4, and written as a weight, 2
/// (optim/gradient_accumulator.py, step). ZeRO-1's gather copies weights into its buffers, from its result into these,
/// and back, 4 each (distributed.py, all_gather_coalesced; pytorch/pytorch@cf1380df
/// torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, allgather). DistributedDataParallel copies gradients into its
/// buckets and back, 4 each (torch/csrc/distributed/c10d/reducer.cpp, mark_variable_ready_dense and
/// finalize_bucket_dense, without gradient_as_bucket_view).
StateBytes Nanotron::state_bytes(const Strategy& s) const {
  const bool replicas = s.data_ranks() > 1;
  constexpr double kOfAllSums = 16, kOfShard = 34, kGather = 12, kBuckets = 8;
  if (s.zero1) return {2, 4, 12, 0, 10, kOfAllSums + (replicas ? kGather : 0), kOfShard, 0, 0, 2};
  return {2, replicas ? 6.0 : 4.0, 12, 0, 10, kOfAllSums + kOfShard + (replicas ? kBuckets : 0), 0, 0, 0, 2};
}

/// The sums of all parameters lie in one buffer, which ZeRO-1 reduces as it is (optim/gradient_accumulator.py,
/// build_grad_buffers and sync_gradients_across_dp). DistributedDataParallel's hook reduces those of a bucket's
/// tensors in one group of calls (get_fp32_accum_hook).
Exchange Nanotron::gradients(const Strategy& s) const {
  Exchange e{CollectiveOp::all_reduce, ProcessGroup::replicas, 4, Bytes(kOneCall)};
  if (s.zero1) return e;
  e.bucket = Bytes(kSumOverGradient * kNanotronBucket);
  e.whole_tensors = true;
  return e;
}

/// Scalars: the norm of the gradients.
ScalarReduces Nanotron::scalars(const Strategy&) const {
  return {3, 3};
}

/// One call, for which each rank's piece of each tensor is cut out, and from whose result it is copied back, one
/// by one (optim/zero.py, _all_gather_params; distributed.py, all_gather_coalesced).
std::optional<Exchange> Nanotron::weights(const Strategy& s) const {
  if (!s.zero1) return std::nullopt;
  Exchange e{CollectiveOp::all_gather, ProcessGroup::data, 2, Bytes(kOneCall)};
  e.in_pieces = true;
  return e;
}

Bytes Nanotron::optimizer_buffers(const Strategy&, double largest_weight) const {
  return Bytes(4 * largest_weight);
}

Bytes Nanotron::backward_buffers(const Strategy&) const {
  return Bytes(kNanotronBucket);
}

}  // namespace trnplan::models
