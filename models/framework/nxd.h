// neuronx-distributed, which NxDT, NeMo Megatron for Neuron and plain NxD scripts train with.
#pragma once

#include "models/framework/framework.h"

namespace trnplan::models {

/// Options in which training loops otherwise like NxD's differ.
struct NxdOptions {
  std::string_view name = "nxd";
  /// True if gradients are reduced during the last backward pass, as torch's DistributedDataParallel and
  /// Megatron-LM's overlap_grad_reduce do.
  bool reduces_with_backward = false;
};

class Nxd : public Framework {
 public:
  explicit constexpr Nxd(const NxdOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return options_.name; }
  bool trains_on(const topology::Traits& machine) const override {
    return machine.accelerator == topology::Accelerator::neuron_core;
  }
  bool runs(Schedule schedule) const override;
  bool has_flash_attention(const Architecture& a) const override;
  bool sends_block(const Strategy& s) const override;
  bool overlaps_layers(const Strategy& s) const override;
  PassLaunches launches(const Strategy& s) const override;
  RecomputeUnits recomputed(const Strategy& s) const override;
  std::vector<int> partition(const Architecture& a, int parts) const override;
  StateBytes state_bytes(const Strategy& s) const override;
  /// Value of the configs that NxDT ships (aws-neuron/neuronx-distributed-training@9169aa03
  /// examples/conf/hf_mixtral_8x7b_config.yaml, model.moe): a compiled graph has fixed shapes.
  double capacity_factor() const override { return 2; }
  KeptLogits kept_logits(Precision p) const override;
  Exchange gradients(const Strategy& s) const override;
  bool reduces_with_backward(const Strategy&) const override { return options_.reduces_with_backward; }
  int tensors_per_layer() const override;
  ScalarReduces scalars(const Strategy& s) const override;
  std::optional<Exchange> weights(const Strategy& s) const override;
  Bytes optimizer_buffers(const Strategy& s, double largest_weight) const override;
  /// Returns the size of the bucket that is being sent.
  Bytes backward_buffers(const Strategy& s) const override {
    return options_.reduces_with_backward ? gradients(s).bucket : Bytes();
  }

 private:
  NxdOptions options_;
};

}  // namespace trnplan::models
