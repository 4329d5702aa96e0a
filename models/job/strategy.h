// The parallelism strategy of a training run.
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/schedule.h"
#include "units/product.h"

namespace trnplan::models {

/// fp8: mixed_precision whose decoder layers multiply by their weights in FP8, on GPUs that can.
/// fp8_param_gather: the same with those weights stored and gathered in FP8 alone, as Megatron's --fp8-param-gather
/// does.
enum class Precision { mixed_precision, autocast, bf16_sr, fp32, manual, fp8, fp8_param_gather };
/// Names in the order of Precision, as NxDT spells them, and those in FP8, which NxDT lacks.
inline constexpr auto kPrecisionNames = std::to_array<std::string_view>(
    {"mixed_precision", "autocast", "bf16SR", "fp32", "manual", "fp8", "fp8_param_gather"});
static_assert(kPrecisionNames.size() == static_cast<std::size_t>(Precision::fp8_param_gather) + 1);
/// True if decoder layers multiply in FP8.
constexpr bool is_fp8(Precision p) {
  return p == Precision::fp8 || p == Precision::fp8_param_gather;
}
/// Bytes of an activation, and of a weight as products read it in the precisions that have no other for it.
constexpr double element_bytes(Precision p) {
  return p == Precision::fp32 ? 4 : 2;
}
std::string_view to_string(Precision p);
std::optional<Precision> precision_from(std::string_view text);
/// Names of all precisions, for a fix: "mixed_precision, ..., manual or fp8".
std::string precision_words();

/// Modules with activations that are recomputed in the backward pass. NxDT:
/// activations_checkpoint_granularity and activations_checkpoint_recompute
/// (aws-neuron/neuronx-distributed-training, examples/conf).
struct Recompute {
  bool full = false;                 ///< whole decoder layer
  int every = 1;                     ///< with full: one layer in so many
  bool core_attention = false;       ///< CoreAttention; a no-op with flash attention
  bool mlp = false;                  ///< LlamaMLP
  bool rms_norm = false;             ///< LlamaRMSNorm
  bool activation_multiply = false;  ///< ActivationMultiplyMLP
  /// SelectiveOp: everything except attention and every second product (pytorch/torchtitan,
  /// selective_ac_option "op").
  bool alternate = false;

  auto operator<=>(const Recompute&) const = default;
};
/// "none", "full", "full/2" (every second layer), "SelectiveOp", or classes joined by '+':
/// "CoreAttention+LlamaMLP".
std::string to_string(const Recompute& r);
/// Accepts other loops' words for the classes too: Megatron-LM's --recompute-modules core_attn, mlp, moe and
/// layernorm, TorchTitan's selective_ac_option op.
std::optional<Recompute> recompute_from(std::string_view text);

/// Parts of the training state that are sharded between ranks that share one copy of it. Each value includes
/// those before it: ZeRO-1, ZeRO-2, ZeRO-3.
enum class Sharding { states, gradients, parameters };
/// "zero1", "zero2", "zero3".
std::string_view to_string(Sharding s);
/// Accepts "fsdp" too, as zero3.
std::optional<Sharding> sharding_from(std::string_view text);

/// One point of the search space. Degrees are named as in the literature; see docs/models.md.
struct Strategy {
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  int virtual_pipeline = 1;
  int context_parallel = 1;
  int expert_parallel = 1;
  /// Ranks that share the weights of an expert; 0: as many as the training loop takes if nothing is said
  /// (expert_tensor_degree()).
  int expert_tensor_parallel = 0;
  int data_parallel = 1;
  int micro_batch = 1;  ///< sequences per micro-batch and data-parallel rank
  bool sequence_parallel = false;
  bool zero1 = true;
  Recompute recompute;
  bool flash_attention = true;
  int kv_replicator = 1;  ///< copies of each KV head: max(1, TP / kv_heads) on NxDT
  Precision precision = Precision::mixed_precision;
  /// Upper limit of ZeRO-1's buckets, in NxD's MB (ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB). More than 140
  /// gave NaN (aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py).
  int bucket_mb = 130;
  std::vector<int> pipeline_cuts;  ///< last layer of each stage except the last; empty = automatic
  Schedule schedule = Schedule::one_f_one_b;
  /// Framework with the training loop that runs the strategy: a result of stated_framework()
  /// (models/framework/framework.h), valid as long as the program runs; "" = that of the job's target.
  std::string_view framework;
  Sharding sharding = Sharding::states;  ///< used with `zero1`, which says whether anything is sharded
  /// Ranks that share one copy, neighbours in data-parallel order; each such group is a replica of the
  /// others. 0: all of DP x CP.
  int shard_ranks = 0;

  auto operator<=>(const Strategy&) const = default;
  /// TP x PP x CP; saturates.
  std::int64_t model_parallel() const {
    return saturating_product({tensor_parallel, pipeline_parallel, context_parallel});
  }
  /// DP x CP, the most ranks that can share the optimizer's state; saturates.
  int data_ranks() const {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(kMost, saturating_product({data_parallel, context_parallel})));
  }
};

/// Short text for people, without precision and KV replication, which follow from job and TP: "TP 8 x PP 1 x
/// DP 4, micro-batch 1, SP, recompute CoreAttention+LlamaMLP"; with ", plain attention" if attention is
/// plain.
std::string describe(const Strategy& s);

/// One spelling for all strategies that are the same program. With flash attention CoreAttention is never
/// called, so recomputing it is a no-op: `none` and `CoreAttention` are one program, written "CoreAttention"
/// as the shipped configs do; likewise LlamaMLP with and without CoreAttention. `full` and SelectiveOp absorb
/// classes; sequence parallel needs TP > 1, virtual stages need PP > 1. The schedule is effective_schedule().
Strategy canonical(Strategy s);

/// Schedule that runs. 1F1B and interleaved differ only in the virtual stages: with virtual stages both are
/// interleaved, without them 1F1B. With one stage every schedule is 1F1B.
[[nodiscard]] Schedule effective_schedule(const Strategy& s);

/// Ranks that share one copy of the optimizer's state.
[[nodiscard]] int shard_degree(const Strategy& s);

}  // namespace trnplan::models
