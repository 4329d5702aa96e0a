#include "models/framework/megatron_bridge.h"

namespace trnplan::models {

bool MegatronBridge::overlaps_layers(const Strategy& s) const {
  return Megatron::overlaps_layers(s) || tensor_overlap(s);
}

std::optional<TensorOverlap> MegatronBridge::tensor_overlap(const Strategy& s) const {
  if (!s.sequence_parallel || s.tensor_parallel == 1) return std::nullopt;
  return TensorOverlap{kPieces, true};
}

std::vector<int> MegatronBridge::partition(const Architecture& a, int parts) const {
  if (a.layers % parts == 0 || (a.layers + 2) % parts != 0 || parts == 1)
    return Megatron::partition(a, parts);
  std::vector<int> layers(static_cast<std::size_t>(parts), (a.layers + 2) / parts);
  --layers.front();
  --layers.back();
  return layers;
}

/// Sums of gradients of 2 bytes, read and written by the product that adds to them. In FP8 weights are kept as they are and
/// transposed, 2, and cast once a step: the greatest magnitude, read, written twice, 6.
StateBytes MegatronBridge::state_bytes(const Strategy& s) const {
  const bool fp8 = s.precision == Precision::fp8;
  const double kept = fp8 ? 4 : 2, cast = fp8 ? 6 : 0;
  if (s.zero1) return {kept, 2, 12, 0, 4, 2 + cast, 28};
  return {kept, 2, 12, 0, 4, 30 + cast, 0};
}

Exchange MegatronBridge::gradients(const Strategy& s) const {
  Exchange e = Megatron::gradients(s);
  e.bytes /= 2;
  e.bucket = e.bucket / 2;
  return e;
}

}  // namespace trnplan::models
