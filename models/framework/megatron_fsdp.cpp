#include "models/framework/megatron_fsdp.h"

namespace trnplan::models {

std::optional<TensorOverlap> MegatronFsdp::tensor_overlap(const Strategy& s) const {
  return kBridgeOptions.overlap_of(s);
}

std::optional<UnitSharding> MegatronFsdp::units(const Strategy& s) const {
  auto unit = Fsdp::units(s);
  if (!unit) return unit;
  unit->reduced = element_bytes(s.precision);
  if (s.precision == Precision::fp8_param_gather) unit->of_layers = 0.5;
  return unit;
}

}  // namespace trnplan::models
