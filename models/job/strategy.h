// How it is trained: the parallelism strategy.
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
enum class Precision { mixed_precision, autocast, bf16_sr, fp32, manual, fp8 };
/// In the order of Precision, as NxDT spells them; and fp8, which it has not.
inline constexpr auto kPrecisionNames =
    std::to_array<std::string_view>({"mixed_precision", "autocast", "bf16SR", "fp32", "manual", "fp8"});
static_assert(kPrecisionNames.size() == static_cast<std::size_t>(Precision::fp8) + 1);
std::string_view to_string(Precision p);
std::optional<Precision> precision_from(std::string_view text);
/// All of them, for a fix: "mixed_precision, ..., manual or fp8".
std::string precision_words();

/// Which modules' activations are recomputed in the backward pass. NxDT: activations_checkpoint_granularity
/// and activations_checkpoint_recompute (aws-neuron/neuronx-distributed-training, examples/conf).
struct Recompute {
  bool full = false;                 ///< whole decoder layer
  int every = 1;                     ///< with full: of so many layers one
  bool core_attention = false;       ///< CoreAttention; a no-op with flash attention
  bool mlp = false;                  ///< LlamaMLP
  bool rms_norm = false;             ///< LlamaRMSNorm
  bool activation_multiply = false;  ///< ActivationMultiplyMLP
  /// SelectiveOp: everything but attention and every second product (pytorch/torchtitan, selective_ac_option "op").
  bool alternate = false;

  auto operator<=>(const Recompute&) const = default;
};
/// "none", "full", "full/2" of every second layer, "SelectiveOp", or classes joined by '+': "CoreAttention+LlamaMLP".
std::string to_string(const Recompute& r);
std::optional<Recompute> recompute_from(std::string_view text);

/// What ranks that share one copy of the optimizer's state hold a part of besides it. Each has what those before
/// it have: ZeRO-1, ZeRO-2, ZeRO-3.
enum class Sharding { states, gradients, parameters };
/// "zero1", "zero2", "zero3".
std::string_view to_string(Sharding s);
/// Also of "fsdp", which is zero3.
std::optional<Sharding> sharding_from(std::string_view text);

/// One point of the search space. Degrees are the field's own; see docs/models.md.
struct Strategy {
  int tensor_parallel = 1;
  int pipeline_parallel = 1;
  int virtual_pipeline = 1;
  int context_parallel = 1;
  int expert_parallel = 1;
  int data_parallel = 1;
  int micro_batch = 1;  ///< sequences per micro-batch and data-parallel rank
  bool sequence_parallel = false;
  bool zero1 = true;
  Recompute recompute;
  bool flash_attention = true;
  int kv_replicator = 1;  ///< copies of each KV head: max(1, TP / kv_heads) on NxDT
  Precision precision = Precision::mixed_precision;
  /// Cap of ZeRO-1's buckets, MB as NxD counts them (ALL_GATHER_REDUCE_SCATTER_BUCKET_CAP_MB). More than 140
  /// gave NaN (aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py).
  int bucket_mb = 130;
  std::vector<int> pipeline_cuts;  ///< last layer of each stage but the last; empty = automatic
  Schedule schedule = Schedule::one_f_one_b;
  /// Whose training loop runs it: what stated_framework() gave (models/framework/framework.h), whose names live
  /// as long as the program; "" = that of the job's target.
  std::string_view framework;
  Sharding sharding = Sharding::states;  ///< with `zero1`, which says whether anything is sharded
  /// Ranks that share one copy, neighbours in data-parallel order; each such group is a replica of the others.
  /// 0: all of DP x CP.
  int shard_ranks = 0;

  auto operator<=>(const Strategy&) const = default;
  /// TP x PP x CP; saturates.
  std::int64_t model_parallel() const {
    return saturating_product({tensor_parallel, pipeline_parallel, context_parallel});
  }
  /// DP x CP, which the optimizer's state can be shared over; saturates.
  int data_ranks() const {
    constexpr std::int64_t kMost = std::numeric_limits<int>::max();
    return static_cast<int>(std::min(kMost, saturating_product({data_parallel, context_parallel})));
  }
};

/// Short text for people, without precision and KV replication, which follow from job and TP:
/// "TP 8 x PP 1 x DP 4, micro-batch 1, SP, recompute CoreAttention+LlamaMLP", ", plain attention" where it is.
std::string describe(const Strategy& s);

/// The same program under one name: with flash attention CoreAttention is never called, so recomputing it is
/// a no-op and `none` and `CoreAttention` are one program, written "CoreAttention" as the shipped configs do;
/// likewise LlamaMLP with and without CoreAttention. `full` and SelectiveOp absorb classes; sequence parallel needs TP
/// > 1, virtual stages need PP > 1. The schedule is settled_schedule().
Strategy canonical(Strategy s);

/// What 1F1B and interleaved, which differ in nothing but the virtual stages, are: interleaved with them, 1F1B
/// without. With one stage every schedule is 1F1B.
[[nodiscard]] Schedule settled_schedule(const Strategy& s);

/// Ranks that share one copy of the optimizer's state.
[[nodiscard]] int shard_degree(const Strategy& s);

}  // namespace trnplan::models
