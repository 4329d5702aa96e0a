// PyTorch's fully sharded data parallel: FSDP2 (fully_shard) as TorchTitan uses it, and FSDP1 as Composer
// does. Sources: pytorch/torchtitan@b5bcd76c docs/fsdp.md and torchtitan/models/llama3/infra/parallelize.py;
// mosaicml/llm-foundry@8c8dd48f scripts/train/benchmarking.
//
//   units        each decoder layer, and the root with embedding, final norm and head
//   gathers      in bf16 (fp32: as they are) from fp32 shards, on a stream of their own: while one unit
//                computes, that of the next (in the backward pass, of the one before); those of the root and
//                the first layer wait for nothing and are not hidden
//   reductions   of a unit's gradients in fp32 after its backward pass, during that of the unit before, every
//                micro-batch; with shard groups then an all-reduce between the groups
//                fms-fsdp reduces them in bf16
//   reshard      zero3 drops gathered weights after the forward pass; FSDP2 keeps the last layer's, and both
//                keep the root's; zero2 keeps all
//   recompute    stops as soon as the last tensor that is needed is there (early stop of
//                torch.utils.checkpoint without reentry): what follows, the last product and its collective,
//                does not run again
//   SelectiveOp  outputs of attention, of reduce-scatters and of every second product are kept
//                (torchtitan/distributed/activation_checkpoint.py): q, v, gate and down stay; k, output and
//                up are recomputed
//   pipeline     a stage gathers its weights once a step and reduces after its last micro-batch
//                (reshard_after_forward off, docs/fsdp.md)
//   context      load-balanced shards (torch.distributed.tensor.experimental.context_parallel)
//   states       fp32 shards of weights, gradients and moments: 16 / n bytes a parameter; zero2 keeps 2 more
//                in bf16
#pragma once

#include "models/framework/nxd.h"

namespace trnplan::models {

/// Options in which loops of fully sharded data parallel differ.
struct FsdpOptions {
  std::string_view name = "fsdp";
  bool native_pytorch = false;  ///< trains wherever PyTorch itself runs: TorchTitan's Neuron backend
  /// False if element-wise operators run one at a time (torchtitan/models/llama3/model/model.py).
  bool compiled = true;
  /// True for asynchronous tensor parallel (torchtitan/distributed/tensor_parallel.py,
  /// maybe_enable_async_tp): the compiler fuses a product with the gather before it or the reduce-scatter
  /// after it, piece by piece in symmetric memory inside a node.
  bool async_tensor = false;
  /// True if it recomputes SelectiveOp, or one layer in so many. Otherwise blocks are wrapped whole.
  bool recomputes_parts = true;
  bool keeps_last = true;  ///< as in UnitSharding
  double buffered = 3;
  double reduced = 4;             ///< bytes of a gradient on the wire
  std::optional<FusedLoss> loss;  ///< absent: NxD's
  /// PyTorch's scaled_dot_product_attention runs FlashAttention 2 (pytorch/pytorch
  /// aten/src/ATen/native/transformers/cuda/flash_attn).
  std::string_view attention = "flash-attention-2";
  /// True if another kernel without a matrix of scores takes fp32: PyTorch's memory-efficient attention
  /// (pytorch/pytorch@21c3369e:aten/src/ATen/native/transformers/cuda/sdp_utils.cpp).
  bool attends_in_fp32 = true;
};
/// Options of FSDP1, which drops the last layer's weights too, and holds memory longer that other streams
/// use. Composer's MPT wraps blocks whole and takes flash-attention's fused cross entropy: bf16 logits and
/// their gradient (mosaicml/llm-foundry llmfoundry/models/mpt/modeling_mpt.py, loss_fn;
/// activation_checkpointing). Its attention is Triton's of the first FlashAttention (attn_impl;
/// mosaicml/llm-foundry@b2a43a14 scripts/train/benchmarking/submit_benchmarks.py).
inline constexpr FsdpOptions kFsdp1Options{.name = "fsdp1",
                                           .recomputes_parts = false,
                                           .keeps_last = false,
                                           .buffered = 4,
                                           .loss = FusedLoss{{2, 4}, {2, 4}},
                                           .attention = "flash-attention-triton",
                                           .attends_in_fp32 = false};

/// Options of FSDP1 as IBM's fms-fsdp drives it: blocks are compiled, one in so many is recomputed, gradients are
/// reduced in bf16, and attention is PyTorch's own (foundation-model-stack/fms-fsdp@5a296af
/// main_training_llama.py, fms_fsdp/policies/mixed_precision.py, bfSixteen, fms_fsdp/policies/ac_handler.py).
inline constexpr FsdpOptions kFsdp1CompiledOptions{
    .name = "fsdp1-compiled", .keeps_last = false, .buffered = 4, .reduced = 2};

class Fsdp : public Nxd {
 public:
  explicit constexpr Fsdp(const FsdpOptions& options) : options_(options) {}
  std::string_view name() const override { return options_.name; }
  /// False: the projections of keys and values are sharded by columns, and each rank views its columns as whole
  /// heads (pytorch/torchtitan models/llama3, Attention and parallelize).
  bool copies_key_heads() const override { return false; }
  bool trains_on(const topology::Traits& machine) const override {
    return machine.accelerator == topology::Accelerator::gpu ||
           (options_.native_pytorch && machine.native_pytorch);
  }
  /// PyTorch has only those split-backward schedules that give a rank several stages, and they refuse
  /// compiled modules (pytorch/pytorch torch/distributed/pipelining/schedules.py,
  /// _check_torch_compile_compatibility).
  bool runs(Schedule s) const override {
    return !pipeline_schedule(s).splits_backward() || (!options_.compiled && chunks_of(s).least > 1);
  }
  bool has_flash_attention(const Architecture&) const override { return true; }
  bool flash_takes(Precision p) const override { return p != Precision::fp32 || options_.attends_in_fp32; }
  std::string_view attention() const override { return options_.attention; }
  bool overlaps_layers(const Strategy& s) const override;
  std::optional<TensorOverlap> tensor_overlap(const Strategy& s) const override;
  ElementKinds element_kinds() const override;
  LogitBytes logit_bytes(Precision p) const override {
    return options_.loss ? options_.loss->in(p).moved : Nxd::logit_bytes(p);
  }
  KeptLogits kept_logits(Precision p) const override;
  bool balances_context() const override { return true; }
  /// TorchTitan's start sets PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (run_train.sh).
  bool mixes_sizes(const Strategy&) const override { return false; }
  PassLaunches launches(const Strategy& s) const override;
  std::vector<Sharding> shardings() const override { return {Sharding::parameters, Sharding::gradients}; }
  bool has_shard_groups() const override { return true; }
  /// selective_ac_option is "op" or a number of layers (torchtitan/distributed/activation_checkpoint.py).
  bool recomputes_classes() const override { return false; }
  RecomputeUnits recomputed(const Strategy& s) const override;
  /// Each group of weights asks autograd separately for its gradients, which recomputes again
  /// (torch/distributed/pipelining/_backward.py, stage_backward_weight; pytorch/pytorch#136766).
  bool recomputes_once() const override { return false; }
  /// Modes of TorchTitan's activation_checkpoint (pytorch/torchtitan@v0.2.2 torchtitan/config/job_config.py),
  /// which has none for single parts.
  std::optional<RecomputeNames> recompute_names() const override {
    return RecomputeNames{"attention",
                          "MLP",
                          "norms",
                          "MLP activation",
                          "full activation checkpointing",
                          "selective activation checkpointing (op)",
                          "selective activation checkpointing (1 layer in ",
                          ")"};
  }
  std::optional<UnitSharding> units(const Strategy& s) const override;
  /// All wait for the gathers and reductions of each unit.
  bool meets_each_pass(const Strategy& s) const override { return units(s).has_value(); }
  SavedBytes saved(const Architecture&, const Strategy&) const override { return kFusedKernelsSave; }
  /// Grouped products process the rows that come (pytorch/torchtitan@b5bcd76
  /// torchtitan/models/common/moe.py).
  double capacity_factor() const override { return 0; }
  /// One grouped product over rows in the order of their experts; the exchange's sizes are read by the host
  /// (pytorch/torchtitan@v0.2.2 torchtitan/models/moe/moe.py, torchtitan/distributed/expert_parallel.py).
  std::optional<ExpertDispatch> expert_dispatch() const override { return ExpertDispatch{}; }
  StateBytes state_bytes(const Strategy& s) const override;
  Exchange gradients(const Strategy& s) const override;
  /// After a split backward its schedules reduce all gradients of a stage, and wait (pytorch/pytorch
  /// torch/distributed/pipelining/stage.py, perform_reduce_grad).
  bool reduces_with_backward(const Strategy& s) const override { return !schedule_of(s).splits_backward(); }
  ScalarReduces scalars(const Strategy& s) const override;
  std::optional<Exchange> weights(const Strategy& s) const override;
  Bytes optimizer_buffers(const Strategy& s, double largest_weight) const override;

 private:
  double reduced(const Strategy& s) const;

  FsdpOptions options_;
};

}  // namespace trnplan::models
