// Megatron-DeepSpeed: PyTorch without a compiler, 1F1B with sends that wait for their receives, gradients
// reduced and weights gathered after the last backward pass.
//
//   sends        batched isend and irecv, waited for at once
//                (megatron/core/pipeline_parallel/p2p_communication.py); activations and gradients are cut
//                over the tensor-parallel ranks and gathered by those that receive them (pipe_partitioned,
//                grad_partitioned: deepspeedai/DeepSpeed@edaa7221:deepspeed/runtime/pipe/engine.py)
//   recompute    full: every block again, with its last product and all-reduce
//   ZeRO-1       gradients of 2 bytes reduced, weights gathered after the step, neither overlapped
//                (DeepSpeed runtime/zero/stage_1_and_2.py, overlap_comm off)
//   stages       blocks in equal numbers if they divide; else the embedding and the head count as one block
//                each (--pp-partition-method type:transformer|embedding,
//                bigscience-workshop/bigscience@9e64ede)
//   states       weights and gradients of 2 bytes, master weights and moments of 4 each
//   BF16         with ZeRO-1 by DeepSpeed's BF16 optimizer: gradients of a pass are added up in fp32 on every
//                rank, and stay until the next backward pass begins; the sum is reduced in a copy of 2 bytes
//                (deepspeedai/DeepSpeed@82450539 deepspeed/runtime/bf16_optimizer.py, update_hp_grads;
//                pipe/engine.py, _exec_backward_pass; engine.py, communication_data_type, allreduce_bucket;
//                BLOOM's: bigscience-workshop/bigscience@9e64ede train/tr11-176B-ml)
//   FP16         gradients are added up in the 2 bytes that they have; in the step a rank's shard of them is
//                copied into fp32 (deepspeed/runtime/zero/stage_1_and_2.py, step)
#pragma once

#include "models/framework/nxd.h"

namespace trnplan::models {

/// Options in which optimizers of DeepSpeed differ.
struct DeepSpeedOptions {
  std::string_view name = "megatron-deepspeed";
  bool sums_in_fp32 = true;  ///< gradients, with ZeRO-1; false for FP16
};

class MegatronDeepSpeed : public Nxd {
 public:
  explicit constexpr MegatronDeepSpeed(const DeepSpeedOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return options_.name; }
  bool trains_on(const topology::Traits& machine) const override {
    return machine.accelerator == topology::Accelerator::gpu;
  }
  /// TrainSchedule, which its engine trains with (deepspeedai/DeepSpeed@83fd8f87:deepspeed/runtime/pipe/schedule.py).
  bool runs(Schedule schedule) const override { return schedule == Schedule::one_f_one_b; }
  bool recomputes_classes() const override { return false; }
  bool shards_rows() const override { return false; }  // deepspeed/runtime/zero/stage_1_and_2.py, flatten
  bool has_flash_attention(const Architecture& a) const override;
  bool fuses_softmax(const ScoreShape& scores) const override;
  bool scatters_messages() const override { return true; }
  bool overlaps_layers(const Strategy& s) const override;
  PassLaunches launches(const Strategy& s) const override;
  LogitBytes logit_bytes(Precision) const override { return kEagerLogits; }
  bool knows_fp32() const override { return false; }
  bool drops_unread() const override { return false; }
  std::vector<int> partition(const Architecture& a, int parts) const override;
  SavedBytes saved(const Architecture&, const Strategy&) const override { return kFusedKernelsSave; }
  /// Default of --moe-train-capacity-factor (deepspeedai/Megatron-DeepSpeed megatron/arguments.py).
  double capacity_factor() const override { return 1; }
  StateBytes state_bytes(const Strategy& s) const override;
  Exchange gradients(const Strategy& s) const override;
  int tensors_per_layer() const override { return 12; }
  ScalarReduces scalars(const Strategy& s) const override;
  std::optional<Exchange> weights(const Strategy& s) const override;
  Bytes optimizer_buffers(const Strategy& s, double largest_weight) const override;

 private:
  DeepSpeedOptions options_;
};

}  // namespace trnplan::models
