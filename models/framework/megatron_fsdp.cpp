#include "models/framework/megatron_fsdp.h"

namespace trnplan::models {

std::optional<TensorOverlap> MegatronFsdp::tensor_overlap(const Strategy& s) const {
  return kBridgeOptions.overlap_of(s);
}

std::optional<UnitSharding> MegatronFsdp::units(const Strategy& s) const {
  auto unit = Fsdp::units(s);
  if (unit) unit->reduced = element_bytes(s.precision);
  return unit;
}

}  // namespace trnplan::models
