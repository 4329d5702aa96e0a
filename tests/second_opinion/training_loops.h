// Table of what each framework's training loop keeps of a model and what it can do, from docs/models.md,
// independent of models/framework.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/architecture.h"
#include "models/job/strategy.h"

namespace trnplan::second_opinion {

/// Kernels that determine what autograd keeps on GPUs. On Neuron cores, NxD's models determine it.
enum class Kernels { nxd, fused, eager };

struct TrainingLoop {
  std::string_view name;
  double logits_forward = 14, logits_backward = 6;  ///< bytes per logit
  Kernels kernels = Kernels::nxd;
  int messages = 2;  ///< on GPUs: messages between stages kept per micro-batch in flight
  /// Weights are sharded too: copies of a layer's weights that are gathered at a time, and bytes of a reduced
  /// gradient element.
  double copies = 0, reduced = 0;
  bool shards_gradients_alone = false;  ///< ZeRO-2
  bool recomputes_parts = false;        ///< every second product, or one of N layers
  bool reduces_with_backward = true;
  bool reduces_after_with_zero1 = false;  ///< with ZeRO-1 gradients wait for the end of the backward pass
  bool copies_states = false;  ///< groups of replicas may have a copy of the optimizer's states each
  /// Of experts: ratio of places to those that tokens choose, if the model states none; 0 = without limit.
  double capacity = 0;

  [[nodiscard]] bool shards_weights() const { return copies > 0; }
};

/// True if pretrain_gpt.py runs it: Megatron's own program, not a recipe's.
bool is_pretrain_gpt(std::string_view loop);

/// Requires: a name of the table; "" means NxD's.
const TrainingLoop& training_loop(std::string_view name);

/// Bytes per parameter.
struct StateBytes {
  double whole = 0;    ///< on every rank
  double shard = 0;    ///< divided over the ranks that share it
  double reduced = 0;  ///< of the reduced shard, in the optimizer's step only; divided likewise
  double copied = 0;   ///< whole, while gradients are reduced after the last pass
};
StateBytes state_bytes(const TrainingLoop& loop, const models::Strategy& s);

/// Bytes per logit, while the loss is computed and while the head's gradients are.
struct LogitBytes {
  double forward, backward;
};
LogitBytes logit_bytes(const TrainingLoop& loop, const models::Strategy& s);
/// Bytes of a weight that is gathered, and of a gradient that is reduced.
double gathered_bytes(const models::Strategy& s);
double reduced_bytes(const TrainingLoop& loop, const models::Strategy& s);
/// True if its attention without scores in memory takes what the strategy computes in.
bool attends(const TrainingLoop& loop, const models::Strategy& s);
/// Ranks that hold a part each of every expert of theirs.
int cuts_of_expert(const models::Strategy& s);

/// Bytes of buffers during the optimizer's step, on a rank whose largest weight has that many elements.
double step_buffers(const TrainingLoop& loop, const models::Strategy& s, double largest_weight);
/// Bytes of buffers during a backward pass.
double backward_buffers(const TrainingLoop& loop, const models::Strategy& s);

/// Layers of each part of the model without stated cuts; empty if the loop does not form them.
std::vector<int> even_parts(const TrainingLoop& loop, const models::Architecture& a, int stages, int chunks);

/// Parts of a strategy that the loop cannot do; "" = none.
std::string cannot(const TrainingLoop& loop, const models::Strategy& s);

/// Ranks that share one copy of the optimizer's states.
int sharers_of(const models::Strategy& s);

}  // namespace trnplan::second_opinion
