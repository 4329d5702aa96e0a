#include "models/framework/megatron.h"

#include <algorithm>

#include "units/index.h"

namespace trnplan::models {

namespace {

/// Parameters of a bucket: 40 M, or 1 M for each data-parallel rank if that is more
/// (distributed/distributed_data_parallel.py).
constexpr double kBucketParameters = 40e6, kBucketParametersPerRank = 1e6;
constexpr double kGradientBytes = 4, kWeightBytes = 2;

double bucket_parameters(const Strategy& s) {
  const double ranks = static_cast<double>(s.data_parallel) * s.context_parallel;
  return std::max(kBucketParameters, kBucketParametersPerRank * ranks);
}

}  // namespace

std::vector<int> Megatron::partition(const Architecture& a, int parts) const {
  if (parts < 2 || a.layers % parts == 0) return Nxd::partition(a, parts);
  // As equal as can be: between the ends the mean rounded up, where that leaves each end a layer, else down.
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

PassLaunches Megatron::launches(const Strategy& s) const {
  if (s.pipeline_parallel == 1) return {Launch::graph, Launch::none, Launch::none};
  return {Launch::task, Launch::task, Launch::none};
}

/// The product adds its gradient to the sum: read 4, written 4. Each step the sums are set to zero, 4; the optimizer
/// reads them, 4, reads and writes master weights and moments, 24, and writes the weights, 2.
StateBytes Megatron::state_bytes(const Strategy& s) const {
  if (s.zero1) return {2, 4, 12, 0, 8, 4, 30};
  return {2, 4, 12, 0, 8, 34, 0};
}

/// Forward: 2 of the logits, 4 of the copy that becomes the softmax. Backward: 4 of the gradient in its place, 2 of the
/// gradient for the head's products.
KeptLogits Megatron::kept_logits() const {
  return {6, 6};
}

Exchange Megatron::gradients(const Strategy& s) const {
  const Bytes bucket(kGradientBytes * bucket_parameters(s));
  if (!s.zero1) return {CollectiveOp::all_reduce, ProcessGroup::replicas, kGradientBytes, bucket};
  return {CollectiveOp::reduce_scatter, ProcessGroup::data, kGradientBytes, bucket};
}

/// The norm of the gradients over all ranks, the loss over data-parallel ones.
ScalarReduces Megatron::scalars(const Strategy&) const {
  return {2, 2};
}

std::optional<Exchange> Megatron::weights(const Strategy& s) const {
  if (!s.zero1) return std::nullopt;
  return Exchange{CollectiveOp::all_gather, ProcessGroup::data, kWeightBytes,
                  Bytes(kWeightBytes * bucket_parameters(s))};
}

}  // namespace trnplan::models
