// nanotron: PyTorch without a compiler. Tensor parallel is sequence parallel. Source:
// huggingface/nanotron@2411b022 src/nanotron.
//
//   tensor       nanotron-sync: in turn with the products. Else, with tp_linear_async_communication (parallel/tensor_parallel/functional.py): a gather runs
//                during the product of the rank's own piece, and those of the other ranks' pieces follow;
//                nothing hides the reduce-scatters of the forward pass; in the backward pass of a
//                column-parallel product its input is gathered again during the input's gradient, which is
//                scattered during the weight's
//   gradients    added up in fp32; all-reduced in fp32 bucket by bucket during the last backward pass
//                (optim/gradient_accumulator.py, get_fp32_accum_hook). With ZeRO-1 there is no
//                DistributedDataParallel, and one call reduces all of them after that pass (trainer.py, make_ddp and
//                sync_gradients_across_dp; huggingface/nanotron@67c5ebb6, of the published runs. From 7bc99232 on
//                make_ddp is true with any replicas, and the hook of ZeRO-1 is "Not implemented")
//   weights      ZeRO-1: gathered in bf16 after the optimizer, without overlap (optim/zero.py)
//   sends        wait for their receives, after two messages that announce the content, which the host reads
//                (parallel/pipeline_parallel/p2p.py); their cost is that of a task. nanotron-polling: both ends
//                sleep for 0.1 s before each further look at each of the two (huggingface/nanotron@67c5ebb6
//                src/nanotron/parallel/pipeline_parallel/p2p.py, _send_meta and _recv_meta: the end of branch
//                nouamane/bench2, whose script writes the playbook's table, bench_final2.csv). Its parent
//                4e075ab1 and main leave the waiting to the device; by their times the playbook's runs after
//                "the PP fix" did so too, which is on no branch
//   host         waits for the device where it copies: each micro-batch to the device (dataloader.py,
//                sanity_check_dataloader), and what announces a message (p2p.py, _send_meta), both without
//                non_blocking (pytorch/pytorch@007aa8ae aten/src/ATen/native/cuda/Copy.cu, memcpy_and_sync). In
//                between it only launches: the loss is read at the end of the step (trainer.py, train_step_logs)
//   stages       blocks by cost: the next stage begins where the blocks so far reach its share; a layer costs
//                4 h^2 + 3 h f, the head h V, the embedding nothing (models/llama.py,
//                get_block_compute_costs)
//   elements     operators one at a time except for the norm (models/llama.py): residual added (3), norm (2),
//                backward 3 and 3; QKV made contiguous (6 of a head's width), K and V joined and permuted
//                (8), rotary (4), the output permuted (2): 20, or 10 of the two that a rotary embedding is
//                counted by, and as many backward; gate (2) times up (3), backward two products (6), that of
//                the gate (3), both joined (4)
//   states       weights of 2 bytes, fp32 sums of gradients, with replicas but without ZeRO-1 their buckets of 2,
//                gradients of a pass of 2 until its end, fp32 master weights and moments
#pragma once

#include "models/framework/nxd.h"

namespace trnplan::models {

struct NanotronOptions {
  std::string_view name = "nanotron";
  bool overlaps_tensor = true;  ///< tp_linear_async_communication
  bool polls = false;           ///< what announces a message, as 67c5ebb6 does
};

class Nanotron : public Nxd {
 public:
  explicit constexpr Nanotron(const NanotronOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return options_.name; }
  bool trains_on(const topology::Traits& machine) const override {
    return machine.accelerator == topology::Accelerator::gpu;
  }
  bool recomputes_classes() const override { return false; }
  /// False where the host sleeps between polls.
  std::optional<bool> queues_collectives(const Strategy& s) const override {
    return s.tensor_parallel > 1 && !options_.polls;
  }
  bool shards_rows() const override { return false; }  // optim/zero.py, slices of flat parameters
  bool runs(Schedule schedule) const override { return schedule == Schedule::one_f_one_b; }
  bool has_flash_attention(const Architecture&) const override { return true; }
  /// flash_attn_varlen_func (models/llama.py, CoreAttention).
  std::string_view attention() const override { return "flash-attention-2"; }
  bool overlaps_layers(const Strategy& s) const override { return tensor_overlap(s).has_value(); }
  std::optional<TensorOverlap> tensor_overlap(const Strategy& s) const override;
  PassLaunches launches(const Strategy& s) const override;
  bool drops_unread() const override { return false; }
  ElementKinds element_kinds() const override;
  LogitBytes logit_bytes(Precision) const override { return kEagerLogits; }
  bool knows_fp32() const override { return false; }
  bool launches_ahead() const override { return true; }
  PolledMessages polled_messages() const override;
  std::vector<int> partition(const Architecture& a, int parts) const override;
  SavedBytes saved(const Architecture& a, const Strategy& s) const override;
  /// No limit: its grouped products take all rows that arrive (nn/moe.py).
  double capacity_factor() const override { return 0; }
  StateBytes state_bytes(const Strategy& s) const override;
  /// Two copies in fp32: the logits, and the logits less their maximum, which become the softmax in place; the
  /// bf16 logits are freed once they are cast. Backward: the gradient in the place of the softmax, and in bf16
  /// (models/llama.py, parallel/tensor_parallel/functional.py).
  KeptLogits kept_logits(Precision) const override { return {8, 6}; }
  Exchange gradients(const Strategy& s) const override;
  bool reduces_with_backward(const Strategy& s) const override { return !s.zero1; }
  ScalarReduces scalars(const Strategy& s) const override;
  std::optional<Exchange> weights(const Strategy& s) const override;
  Bytes optimizer_buffers(const Strategy& s, double largest_weight) const override;
  Bytes backward_buffers(const Strategy& s) const override;

 private:
  NanotronOptions options_;
};

}  // namespace trnplan::models
