// Does it fit? Bytes alive on a core at the peak of each pipeline stage.
//
// Formulas (docs/models.md, "Memory"): N parameters of the core, D = DP*CP, x = s*b/T.
//   states       2N parameters + 4N fp32 gradients + 12N/D master weights and Adam moments (mixed_precision,
//   ZeRO-1) activations  (26h + 8f) x a layer with flash attention and sequence parallel; less what is
//   recomputed logits       14 s b V/T on the last stage while the loss is computed staging      gathered
//   inputs; what recomputation makes anew; ZeRO-1 buckets and reduced gradient shard
// The peak is the largest of three instants: the loss, the first backward layer, the optimizer step.
// Source: reading of aws-neuron/neuronx-distributed-training 9169aa0 (models/hf_models/modeling_llama.py),
// aws-neuron/neuronx-distributed fbac349 (parallel_layers, kernels/flash_attn.py, trainer/trainer.py,
// pipeline/ scheduler.py) and pytorch/xla 41398bf (distributed/zero_redundancy_optimizer.py).
#pragma once

#include <string_view>
#include <vector>

#include "models/job.h"
#include "models/profile.h"
#include "units/quantity.h"

namespace trnplan::models {

/// When a stage's memory peaks.
enum class PeakInstant { loss, backward, optimizer };
std::string_view to_string(PeakInstant i);

/// Bytes per parameter of a precision mode: what is alive, and what moves through HBM.
///
/// Alive: aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py, pytorch/xla
/// zero_redundancy_optimizer.py; without ZeRO-1 the moments are fp32 (adamw_fp32OptState), bf16 with bf16SR.
/// Moved: each value read and written once per use; counted, not measured.
struct StateBytes {
  double parameter, gradient;   ///< on every rank
  double shard, reduced;        ///< master weights and moments; gradient shard inside the step: divided by D
  double accumulate;            ///< moved when a micro-batch's gradient is added
  double update, update_shard;  ///< moved by the optimizer; the second divided by D
};
StateBytes state_bytes(Precision precision, bool zero1);

/// Components alive at the peak instant of one stage, per core. They add up to `peak()`.
struct StageMemory {
  int stage = 0;
  PeakInstant instant = PeakInstant::loss;
  int layers = 0;
  int in_flight = 1;  ///< micro-batches whose activations are alive at the peak
  Bytes parameters{}, gradients{}, optimizer{}, activations{}, logits{}, staging{}, runtime{};

  Bytes peak() const { return parameters + gradients + optimizer + activations + logits + staging + runtime; }
};

/// NxD's ZeRO-1 bucket as it reaches the device: the cap of 130 MB is counted with 8-byte doubles that are 4
/// bytes there (aws-neuron/neuronx-distributed src/neuronx_distributed/trainer/trainer.py; docs/models.md,
/// "Buckets").
inline constexpr double kZeroBucketBytes = 65e6;

struct Memory {
  std::vector<StageMemory> stages;
  Bytes limit{};  ///< HBM of a core

  const StageMemory& worst() const;  ///< the stage with the largest peak, the first of equals
  bool fits() const { return worst().peak() <= limit; }
};

/// Layers of each stage: the user's cuts, else NxD's automatic partition (remainder layers go to the last
/// stages, one each; aws-neuron/neuronx-distributed, src/neuronx_distributed/pipeline/partition.py).
std::vector<int> layers_per_stage(const Architecture& a, const Strategy& s);

/// Parameters of one core on `stage` (of PP): layers, plus embedding on the first, final norm and head on the
/// last. KV weights are counted with their replication.
double local_parameters(const Architecture& a, const Strategy& s, int stage);

/// Cost: O(PP). Needs a strategy that passes the divisibility rules.
Memory memory_of(const Job& job, const Strategy& s, const Profile& profile);

}  // namespace trnplan::models
