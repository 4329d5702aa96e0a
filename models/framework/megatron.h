// Megatron-core with its distributed optimizer (zero1) or without: PyTorch without a compiler, kernels of
// Transformer Engine. Source: NVIDIA/Megatron-LM@d98e8a64 megatron/core.
//
//   sends        1F1B: batched isend and irecv, waited for at once, so exposed; interleaved: on a stream of their
//                own during the work, as overlap_p2p_comm is on unless --no-overlap-p2p-communication is given
//                (training/arguments.py, pipeline_parallel/p2p_communication.py, schedules.py).
//                Without sequence parallel each rank sends all of a message: from 2021-02 (72e4230b) to 2023-03
//                (3c92fa93) each sent its part, and the receivers gathered it
//   gradients    added up in fp32 in one contiguous buffer by the product that makes them; a bucket is
//                reduced in fp32 during the last backward pass as soon as it is full
//                (distributed/param_and_grad_buffer.py, distributed/distributed_data_parallel.py;
//                overlap_grad_reduce)
//   weights      gathered in place in 2 bytes; with --fp8-param-gather those of layers in 1, in buffers of their own
//                (distributed/param_and_grad_buffer.py, by the type of parameters). overlap_param_gather starts
//                them during the next step's first forward; here they come after the optimizer without overlap:
//                an upper bound
//   context      two chunks of each rank, one from each end (core/utils.py, get_batch_on_this_cp_rank)
//   states       2 weights, 4 gradients, 12 master weights and moments, the last divided by DP x CP with the
//                distributed optimizer (docs/user-guide/features/dist_optimizer.md)
//   instances    of the distributed optimizer (num_distributed_optimizer_instances): neighbours in DP x CP share
//                one copy of the states; their reduced shards are all-reduced between the copies, weights are
//                gathered inside each (parallel_state.py, distributed/param_and_grad_buffer.py)
//                fp32: 4, 4 and 8, without a copy of the weights (FP32Optimizer; there)
//   loss         bf16 logits and their fp32 copy, in which softmax and gradient are made in place
//                (tensor_parallel/cross_entropy.py)
//   recompute    recomputed parts run whole again
//
// megatron-bridge is Megatron-core as the recipes of NeMo and Megatron-Bridge set it up. Source:
// NVIDIA-NeMo/Megatron-Bridge@067f987d docs/performance-guide.md, docs/training/communication-overlap.md,
// src/megatron/bridge/recipes; kernels: NVIDIA/TransformerEngine transformer_engine/pytorch.
//
//   tensor       sequence-parallel collectives of a layer overlap its products (userbuffers,
//                tp_comm_overlap): gathers in pieces of a ring, reduce-scatters in 4 pieces of which the last
//                is exposed; in the backward pass whole, during the gradient that does not need them
//   gradients    bf16, added up and reduced in it during the last backward pass (grad_reduce_in_fp32 off,
//                overlap_grad_reduce)
//   weights      gathered during the next step's first forward pass (overlap_param_gather), a chunk of
//                virtual stages at a time
//   FP8          weights cast once a step, with the first micro-batch (is_first_microbatch; module/base.py)
//   stages       if layers do not divide, embedding and head count as a layer each
//                (account_for_embedding_in_pipeline_split, account_for_loss_in_pipeline_split)
//   loss         one kernel, the gradient in place of the logits
//                (transformer_engine/common/triton/cross_entropy.py)
//
// megatron-flex and megatron-bridge-flex: the same with --moe-token-dispatcher-type flex. With -ep-overlap:
// --overlap-moe-expert-parallel-comm; a layer of a forward pass takes turns with one of a backward pass, and two
// exchanges overlap attention, two the experts (NVIDIA/Megatron-LM@d98e8a64
// megatron/core/models/common/model_chunk_schedule_plan.py). Not modelled: passes before the first backward pass and
// after the last forward pass have no partner, but where all passes are such.
#pragma once

#include "models/framework/nxd.h"

namespace trnplan::models {

/// Options in which recipes of Megatron-core differ.
struct MegatronOptions {
  std::string_view name = "megatron";
  std::optional<TensorOverlap> tensor_overlap;  ///< of sequence parallel
  bool gathers_with_forward = false, keeps_fp8_weights = false;
  bool expandable_segments = false;   ///< of PyTorch's allocator
  bool ends_count_as_layers = false;  ///< embedding and head, if the stages do not divide the layers
  double gradient_bytes = 4;          ///< when summed up and reduced
  bool flex_dispatcher = false;       ///< --moe-token-dispatcher-type flex
  bool overlaps_experts = false;      ///< --overlap-moe-expert-parallel-comm
  bool whole_experts = false;         ///< with EP, unless a strategy says otherwise
  std::optional<FusedLoss> loss;      ///< absent: operators one at a time

  [[nodiscard]] std::optional<TensorOverlap> overlap_of(const Strategy& s) const;
};
/// Options of megatron-bridge. The loss: maximum and sum in one pass, 2; read and the gradient written, 4;
/// backward scaled in place, 4.
inline constexpr MegatronOptions kBridgeOptions{.name = "megatron-bridge",
                                                .tensor_overlap = TensorOverlap{4, true},  // num_splits
                                                .gathers_with_forward = true,
                                                .keeps_fp8_weights = true,
                                                .expandable_segments = true,
                                                .ends_count_as_layers = true,
                                                .gradient_bytes = 2,
                                                .whole_experts = true,
                                                .loss = FusedLoss{{6, 4}, {2, 2}}};

/// Other options of experts under another name.
constexpr MegatronOptions with_experts(MegatronOptions options, std::string_view name, bool flex_dispatcher,
                                       bool overlaps_experts) {
  options.name = name;
  options.flex_dispatcher = flex_dispatcher;
  options.overlaps_experts = overlaps_experts;
  return options;
}

/// True if the kernel that scales, masks and normalises scores takes them: 17 to 4096 keys, and all numbers
/// multiples of 4, of elements of 16 bits. A block of threads has 4 rows of more than 128 keys, else 8: of that
/// number the squares are a multiple if scores are causal, else the queries (NVIDIA/Megatron-LM@00caa53a
/// megatron/core/fusions/fused_softmax.py, is_kernel_available; bigscience-workshop/Megatron-DeepSpeed@8387ae17
/// megatron/model/fused_softmax.py and megatron/fused_kernels/scaled_masked_softmax.h, get_batch_per_block).
bool fused_softmax_takes(const ScoreShape& scores);

class Megatron final : public Nxd {
 public:
  explicit constexpr Megatron(const MegatronOptions& options = {}) : options_(options) {}
  std::string_view name() const override { return options_.name; }
  bool trains_on(const topology::Traits& machine) const override {
    return machine.accelerator == topology::Accelerator::gpu;
  }
  /// --expert-tensor-parallel-size (NVIDIA/Megatron-LM@d98e8a64:megatron/core/parallel_state.py), which is TP, but 1
  /// in Megatron-Bridge (NVIDIA-NeMo/Megatron-Bridge@067f987d:src/megatron/bridge/models/transformer_config.py).
  int expert_tensor(const Strategy& s) const override {
    return options_.whole_experts && s.expert_parallel > 1 ? 1 : s.tensor_parallel;
  }
  bool frees_experts() const override { return true; }
  bool has_flash_attention(const Architecture&) const override { return true; }
  /// Both kernels that Transformer Engine has take 16 bits only
  /// (NVIDIA/TransformerEngine@002a3e57:transformer_engine/pytorch/attention/dot_product_attention/utils.py).
  bool flash_takes(Precision p) const override { return p != Precision::fp32; }
  /// Transformer Engine asks cuBLAS for TF32
  /// (NVIDIA/TransformerEngine@0143a5e0:transformer_engine/common/gemm/cublaslt_gemm.cu); head, router and plain
  /// attention are PyTorch's own products, which have to be asked for it.
  bool multiplies_in_tf32() const override { return true; }
  /// Transformer Engine takes cuDNN's kernel from compute capability 9.0 on, FlashAttention 2 below
  /// (NVIDIA/TransformerEngine transformer_engine/pytorch/attention, get_attention_backend).
  std::string_view attention() const override { return "transformer-engine"; }
  /// Unless --no-masked-softmax-fusion is given (megatron/training/arguments.py).
  bool fuses_softmax(const ScoreShape& scores) const override { return fused_softmax_takes(scores); }
  bool overlaps_layers(const Strategy& s) const override {
    return s.context_parallel > 1 || tensor_overlap(s) || overlaps_experts(s);
  }
  bool overlaps_experts(const Strategy& s) const override {
    return options_.overlaps_experts && experts_overlap_lack(s).what.empty();
  }
  Lack experts_overlap_lack(const Strategy& s) const override;
  std::optional<TensorOverlap> tensor_overlap(const Strategy& s) const override;
  bool sends_beside_work(const Strategy& s) const override { return s.virtual_pipeline > 1; }
  bool gathers_with_forward() const override { return options_.gathers_with_forward; }
  /// Scales of FP8 come from the largest magnitudes of earlier passes, which are reduced over all ranks after
  /// each pass (delayed scaling, the default of --fp8-recipe and of NeMo's bf16_with_fp8_mixed:
  /// NVIDIA/TransformerEngine transformer_engine/pytorch/fp8.py, reduce_and_update_fp8_tensors;
  /// get_amax_reduction_group of megatron/core/parallel_state.py).
  bool meets_each_pass(const Strategy& s) const override { return is_fp8(s.precision); }
  bool keeps_fp8_weights() const override { return options_.keeps_fp8_weights; }
  bool balances_context() const override { return true; }
  /// Recipes set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (docs/performance-guide.md).
  bool stores_fp8_weights() const override { return true; }
  bool mixes_sizes(const Strategy& s) const override {
    return !options_.expandable_segments && Nxd::mixes_sizes(s);
  }
  /// Layers of each part. If they do not divide, the first and the last part have fewer or more, and those
  /// between them all the same number (--decoder-first-pipeline-num-layers and -last-;
  /// transformer/transformer_block.py).
  std::vector<int> partition(const Architecture& a, int parts) const override;
  /// Equal chunks; or those of the ends one layer short, where embedding and loss count as layers; or equal chunks
  /// within each stage, of which the ends may have another number than those between. It asserts no more than this
  /// (NVIDIA/Megatron-LM@d98e8a64:megatron/core/transformer/transformer_block.py, get_num_layers_to_build;
  /// transformer_config.py, __post_init__).
  std::vector<int> chunk_partition(const Architecture& a, int stages, int chunks) const override;
  /// Assertions ask for 0 layers or more where embedding and loss count as layers (get_num_layers_to_build there).
  bool leaves_ends_without_layers() const override { return true; }
  /// K and V go round as they are: NVIDIA/TransformerEngine transformer_engine/pytorch/attention, the ring of
  /// context parallel.
  bool repeats_keys() const override { return false; }
  PassLaunches launches(const Strategy& s) const override;
  /// Values of --recompute-modules (core/transformer/transformer_config.py, recompute_modules).
  static constexpr RecomputeNames kModules = {
      "core_attn",      "mlp",
      "layernorm",      "MLP activation",
      "all recomputed", "all but attention and every second product recomputed"};
  std::optional<RecomputeNames> recompute_names() const override { return kModules; }
  bool drops_unread() const override { return false; }
  /// The message sent is dropped too (deallocate_pipeline_outputs, pipeline_parallel/schedules.py).
  SavedBytes saved(const Architecture&, const Strategy&) const override {
    SavedBytes saved = kFusedKernelsSave;
    saved.messages = 0;
    return saved;
  }
  /// moe_expert_capacity_factor is None: no token is dropped (transformer/transformer_config.py).
  double capacity_factor() const override { return 0; }
  /// The dispatcher permutes, exchanges and sorts by expert (NVIDIA/Megatron-LM@0014f137
  /// megatron/core/transformer/moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher); GroupedLinear launches a
  /// product per expert (NVIDIA/TransformerEngine#853). The flex dispatcher's kernels, DeepEP's or Hybrid-EP's, send
  /// a token once (MoEFlexTokenDispatcher there).
  std::optional<ExpertDispatch> expert_dispatch() const override {
    return ExpertDispatch{.one_by_one = true, .once = options_.flex_dispatcher};
  }
  StateBytes state_bytes(const Strategy& s) const override;
  LogitBytes logit_bytes(Precision p) const override {
    return options_.loss ? options_.loss->in(p).moved : eager_logits(p);
  }
  KeptLogits kept_logits(Precision p) const override;
  bool shards_rows() const override { return false; }  // distributed/param_and_grad_buffer.py
  /// --num-distributed-optimizer-instances.
  bool has_shard_groups() const override { return true; }
  bool tries_shard_groups() const override { return false; }
  Exchange gradients(const Strategy& s) const override;
  std::optional<Exchange> copies(const Strategy& s) const override;
  bool reduces_with_backward(const Strategy&) const override { return true; }
  ScalarReduces scalars(const Strategy& s) const override;
  std::optional<Exchange> weights(const Strategy& s) const override;
  /// Gradients and weights are reduced and gathered in place.
  Bytes optimizer_buffers(const Strategy&, double /*largest_weight*/) const override { return {}; }

 private:
  /// Bytes of a gradient that is added up and reduced: no fewer than the weight's.
  double gradient_bytes(const Strategy& s) const {
    return s.precision == Precision::fp32 ? 4 : options_.gradient_bytes;
  }

  MegatronOptions options_;
};

}  // namespace trnplan::models
