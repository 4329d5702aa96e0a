#include "models/framework/nanotron.h"

#include <limits>

namespace trnplan::models {

namespace {

/// Bucket of torch's DistributedDataParallel: bucket_cap_mb of 25.
constexpr double kNanotronBucket = 25.0 * 1024 * 1024;

/// The gathers of all weights are one group of calls (all_gather_coalesced).
constexpr double kCoalesced = std::numeric_limits<double>::infinity();

}  // namespace

PassLaunches Nanotron::launches(const Strategy& s) const {
  if (s.pipeline_parallel == 1) return {Launch::graph, Launch::none, Launch::none};
  return {Launch::task, Launch::task, Launch::none};
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

/// Every operator's result is kept (NxD's counts). The MLP's backward keeps the gradients of the product, of
/// the activated gate, of up and of the gate, 2 each, and gate and up joined, 4 (models/llama.py,
/// GLUActivation).
SavedBytes Nanotron::saved() const {
  SavedBytes saved;
  saved.gated_gradients = 12;
  saved.plain_gradients = 4;
  saved.messages = 1;
  saved.passes_tables = false;
  return saved;
}

/// Bytes of gradients: the fp32 sums, 4, and with replicas the buckets of DistributedDataParallel, 2. The
/// gradients of the pass itself are dropped before the next forward pass, so they are never alive together
/// with all activations.
/// Bytes moved: adding a gradient up reads it and reads and writes the sum. The optimizer reads the sum, 4,
/// reads and writes master weights and moments, 24, and writes the weight, 2.
StateBytes Nanotron::state_bytes(const Strategy& s) const {
  const double sums = s.data_ranks() > 1 ? 6 : 4;
  if (s.zero1) return {2, sums, 12, 0, 10, 6, 28};
  return {2, sums, 12, 0, 10, 34, 0};
}

Exchange Nanotron::gradients(const Strategy&) const {
  return {CollectiveOp::all_reduce, ProcessGroup::replicas, 4, Bytes(kNanotronBucket)};
}

/// Scalars: the norm of the gradients.
ScalarReduces Nanotron::scalars(const Strategy&) const {
  return {3, 3};
}

std::optional<Exchange> Nanotron::weights(const Strategy& s) const {
  if (!s.zero1) return std::nullopt;
  return Exchange{CollectiveOp::all_gather, ProcessGroup::data, 2, Bytes(kCoalesced)};
}

Bytes Nanotron::optimizer_buffers(const Strategy&, double largest_weight) const {
  return Bytes(4 * largest_weight);
}

Bytes Nanotron::backward_buffers(const Strategy&) const {
  return Bytes(kNanotronBucket);
}

}  // namespace trnplan::models
