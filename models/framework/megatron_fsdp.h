// Megatron-core's own fully sharded data parallel, as Megatron-Bridge's recipes use it. Source:
// NVIDIA/Megatron-LM@d98e8a64 megatron/core/distributed/fsdp; NVIDIA-NeMo/Megatron-Bridge@067f987d
// docs/performance-guide.md.
//
//   units        each decoder layer, and the root with embedding, final norm and head
//   gathers      in bf16, those of layers in FP8 with fp8_param_gather, the next unit's during the work on this
//                one; dropped after the forward pass, as in ZeRO-3 (data_parallel_sharding_strategy
//                optim_grads_params)
//   reductions   of a unit's gradients in bf16 during the backward pass of the unit before
//   kernels      Transformer Engine's, as in Megatron-Bridge; FP8 weights are cast again after each gather
#pragma once

#include "models/framework/fsdp.h"
#include "models/framework/megatron.h"

namespace trnplan::models {

class MegatronFsdp final : public Fsdp {
 public:
  constexpr MegatronFsdp()
      : Fsdp({.name = "megatron-fsdp",
              .keeps_last = false,
              .loss = kBridgeOptions.loss,
              .attends_in_fp32 = false}) {}
  std::vector<Sharding> shardings() const override { return {Sharding::parameters}; }
  bool stores_fp8_weights() const override { return true; }
  std::string_view attention() const override { return "transformer-engine"; }
  bool multiplies_in_tf32() const override { return true; }
  bool drops_unread() const override { return false; }
  bool copies_key_heads() const override { return true; }
  bool repeats_keys() const override { return false; }
  bool recomputes_classes() const override { return true; }
  std::optional<RecomputeNames> recompute_names() const override { return Megatron::kModules; }
  RecomputeUnits recomputed(const Strategy& s) const override { return Nxd::recomputed(s); }
  std::optional<TensorOverlap> tensor_overlap(const Strategy& s) const override;
  std::optional<UnitSharding> units(const Strategy& s) const override;
};

}  // namespace trnplan::models
