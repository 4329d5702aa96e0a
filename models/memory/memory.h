// Bytes alive on a core at the peak of each pipeline stage.
//
// Formulas (docs/models.md, "Memory"): N parameters of the core, D = DP*CP, x = s*b/T with s = sequence/CP.
//   states       2N parameters + 4N fp32 gradients + 12N/D master weights and Adam moments (mixed_precision,
//                ZeRO-1); the experts of a mixture over DP*CP/EP
//   activations  (26h + 8f) x a layer with flash attention and sequence parallel, less what is recomputed,
//                for every micro-batch (virtual pipeline: chunk of one) between its forward and its backward
//   logits       14 s b V/T on the last stage while the loss is computed (other frameworks differ)
//   staging      gathered inputs; recomputed activations; ring attention's blocks in transit; ZeRO-1 buckets
//                and the reduced gradient shard
// The peak is the largest of three instants: the loss, the first backward layer, the optimizer step. These
// are the bytes that are counted; their uncertainty, and how probably a stage fits, is in
// models/memory/fit_probability.h.
// Source: reading of aws-neuron/neuronx-distributed-training 9169aa0 (models/hf_models/modeling_llama.py),
// aws-neuron/neuronx-distributed fbac349 (parallel_layers, kernels/flash_attn.py, trainer/trainer.py,
// pipeline/scheduler.py) and pytorch/xla 41398bf (distributed/zero_redundancy_optimizer.py).
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "models/framework/schedule.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "units/quantity.h"

namespace trnplan::models {

/// Instant at which a stage's memory peaks.
enum class PeakInstant { loss, backward, optimizer };
std::string_view to_string(PeakInstant i);

/// Bytes that an instant adds to the states and the runtime's share, which are always there.
struct MemoryMoment {
  PeakInstant instant = PeakInstant::loss;
  Bytes activations{}, logits{}, staging{};

  Bytes total() const { return activations + logits + staging; }
};

/// Components alive at the peak instant of one stage, per core. They add up to `peak()`.
struct StageMemory {
  int stage = 0;
  PeakInstant instant = PeakInstant::loss;
  int layers = 0;
  /// Micro-batches, or chunks of them, between their forward and the end of their backward, at their largest
  /// number.
  int in_flight = 1;
  /// True if forward and backward are one graph, in which a compiler may fuse, drop and recompute
  /// activations.
  bool one_graph = false;
  /// True if one allocator's pool holds states too, so that its fragmentation counts for them; and if tensors of
  /// unlike sizes fragment it (Framework::mixes_sizes()).
  bool pooled = false, mixed = false;
  /// Freed bytes that wait in the pool for collectives, besides the peak (Framework::queues_collectives()); absent:
  /// unknown. None where no device waits for others while its host goes on: on a stage with more layers than every
  /// other, and without a pipeline where each call holds up the host (MeasuredNetwork::call_per_rank).
  std::optional<Bytes> queued;
  std::array<MemoryMoment, 3> moments;  ///< in the order of PeakInstant; `instant` is the largest
  Bytes parameters{}, gradients{}, optimizer{}, activations{}, logits{}, staging{}, runtime{};
  /// Activations per layer and micro-batch, and per micro-batch (virtual pipeline: chunk of one) in flight, 0
  /// without pipeline.
  Bytes per_layer{}, per_pass{};
  /// Additional bytes per layer and micro-batch for which only the gradients of weights are left: the
  /// gradients of the products' outputs, and the recomputed activations, from which those of the weights are
  /// computed.
  Bytes per_deferred{};
  /// The two instants of the loss, without activations: while the head computes, and while its backward
  /// computes. The larger one is in `moments`.
  MemoryMoment head_forward, head_backward;
  /// The two instants of a backward pass: in a layer, and while its gradients are added up. Likewise.
  MemoryMoment backward_layer, backward_end;

  Bytes peak() const { return with({instant, activations, logits, staging}); }
  /// Bytes alive on the core at a moment, with states and the runtime's share.
  Bytes with(const MemoryMoment& m) const {
    return parameters + gradients + optimizer + m.activations + m.logits + m.staging + runtime;
  }
  /// Activations and gradients of `alive`.
  Bytes kept(const Alive& alive) const;
};

struct Memory {
  std::vector<StageMemory> stages;
  Bytes limit{};               ///< HBM of a core
  double fit_probability = 0;  ///< of the stage that fits least probably (models/memory/fit_probability.h)

  const StageMemory& worst() const;  ///< the stage with the largest peak, the first of equals
  /// True if the job fits more probably than not.
  bool fits() const { return fit_probability >= 0.5; }
};

/// Live activations on all stages under the strategy's schedule (PipelineSchedule::residency()).
std::vector<Residency> residencies(const Architecture& a, const Strategy& s, int micro_batches);

/// Parameters of one core on `stage` (of PP): layers, plus embedding on the first, final norm and head on the
/// last. KV weights are counted with their replication, experts over EP.
double local_parameters(const Architecture& a, const Strategy& s, int stage);
/// Parameters of a stage of `layers` layers, whatever the strategy's cuts.
double stage_parameters(const Architecture& a, const Strategy& s, int stage, int layers);

/// Number of the weights of a core on a stage of `layers` layers, of experts or all others.
int stage_weights(const Architecture& a, const Strategy& s, int stage, int layers, bool of_experts);

/// Elements of each weight of a layer on a core, of experts or all others, the last used first.
std::vector<double> layer_weights(const Architecture& a, const Strategy& s, bool of_experts);

/// Elements of a core's largest weight on any stage.
double largest_weight(const Architecture& a, const Strategy& s);

/// Memory of one stage of `layers` layers. Cost: O(1).
StageMemory stage_memory(const Job& job, const Strategy& s, const Profile& profile, int stage, int layers,
                         const Residency& alive);

/// Memory of all stages. Cost: O(PP), with a virtual pipeline O(PP^2 VPP) for the walk through its schedule.
/// Requires a strategy that passes the divisibility rules.
Memory memory_of(const Job& job, const Strategy& s, const Profile& profile);

}  // namespace trnplan::models
