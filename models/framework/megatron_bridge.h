// Megatron-core as NeMo's and Megatron-Bridge's recipes drive it. Source: NVIDIA-NeMo/Megatron-Bridge@067f987d
// docs/performance-guide.md, docs/training/communication-overlap.md, src/megatron/bridge/recipes; kernels:
// NVIDIA/TransformerEngine transformer_engine/pytorch.
//
//   tensor       sequence-parallel collectives of a layer beside its products (userbuffers, tp_comm_overlap): gathers in
//                pieces of a ring, reduce-scatters in 4 pieces of which the last is exposed; in the backward pass whole
//                beside the gradient that does not need them
//   sends        1F1B: exposed, as Megatron's; interleaved: on a stream of their own (overlap_p2p_comm with batch_p2p_comm off)
//   gradients    bf16, added up and reduced in it beside the last backward pass (grad_reduce_in_fp32 off,
//                overlap_grad_reduce)
//   weights      gathered beside the next step's first forward pass (overlap_param_gather), a chunk of virtual stages at a time
//   FP8          weights cast once a step, with the first micro-batch (is_first_microbatch; module/base.py)
//   stages       where layers do not divide, embedding and head count as a layer each
//                (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split)
//   loss         one kernel, the gradient in place of the logits (transformer_engine/common/triton/cross_entropy.py)
#pragma once

#include "models/framework/megatron.h"

namespace trnplan::models {

class MegatronBridge final : public Megatron {
 public:
  std::string_view name() const override { return "megatron-bridge"; }
  bool overlaps_layers(const Strategy& s) const override;
  std::optional<TensorOverlap> tensor_overlap(const Strategy& s) const override;
  bool sends_beside_work(const Strategy& s) const override { return s.virtual_pipeline > 1; }
  bool gathers_with_forward() const override { return true; }
  bool keeps_fp8_weights() const override { return true; }
  std::vector<int> partition(const Architecture& a, int parts) const override;
  StateBytes state_bytes(const Strategy& s) const override;
  LogitBytes logit_bytes() const override { return kFusedLoss; }
  KeptLogits kept_logits() const override { return {2, 2}; }
  Exchange gradients(const Strategy& s) const override;

  /// Maximum and sum in one pass, 2; read and the gradient written, 4; backward scaled in place, 4.
  static constexpr LogitBytes kFusedLoss{6, 4};
  /// Of a reduce-scatter (num_splits).
  static constexpr int kPieces = 4;
};

}  // namespace trnplan::models
