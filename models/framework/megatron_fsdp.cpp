#include "models/framework/megatron_fsdp.h"

namespace trnplan::models {

std::optional<TensorOverlap> MegatronFsdp::tensor_overlap(const Strategy& s) const {
  if (!s.sequence_parallel || s.tensor_parallel == 1) return std::nullopt;
  return TensorOverlap{MegatronBridge::kPieces, true};
}

std::optional<UnitSharding> MegatronFsdp::units(const Strategy& s) const {
  auto unit = Fsdp::units(s);
  if (unit) {
    unit->reduced = 2;
    unit->keeps_last = false;
  }
  return unit;
}

}  // namespace trnplan::models
