// What the training loop of each framework keeps of a model and what it can do, as docs/models.md says it: a table of its
// own beside models/framework.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/architecture/architecture.h"
#include "models/job/strategy.h"

namespace trnplan::second_opinion {

/// Whose kernels on GPUs decide what autograd keeps. On Neuron cores it is what NxD's models keep.
enum class Kernels { nxd, fused, eager };

struct TrainingLoop {
  std::string_view name;
  double logits_forward = 14, logits_backward = 6;  ///< bytes of a logit
  Kernels kernels = Kernels::nxd;
  int messages = 2;  ///< on GPUs: of those between stages, kept with a micro-batch in flight
  /// Weights are sharded too: copies of a layer's that are gathered at a time, and bytes of a gradient that is reduced.
  double copies = 0, reduced = 0;
  bool shards_gradients_alone = false;  ///< ZeRO-2
  bool recomputes_parts = false;        ///< every second product, or of so many layers one
  bool reduces_with_backward = true;
  double capacity =
      0;  ///< of experts: places over those that tokens choose, where the model states none; 0 = as they come

  [[nodiscard]] bool shards_weights() const { return copies > 0; }
};

/// Requires: a name of the table; "" is NxD's.
const TrainingLoop& training_loop(std::string_view name);

/// Bytes of a parameter.
struct StateBytes {
  double whole = 0;    ///< on every rank
  double shard = 0;    ///< divided over the ranks that share
  double reduced = 0;  ///< of the reduced shard, in the optimizer's step alone; divided likewise
};
StateBytes state_bytes(const TrainingLoop& loop, const models::Strategy& s);

/// Bytes of buffers while the optimizer steps, on a rank whose largest weight has so many elements.
double step_buffers(const TrainingLoop& loop, const models::Strategy& s, double largest_weight);
/// Bytes of buffers while a backward pass runs.
double backward_buffers(const TrainingLoop& loop, const models::Strategy& s);

/// Layers of each of `parts` parts of the model where nobody cuts it.
std::vector<int> even_parts(const TrainingLoop& loop, const models::Architecture& a, int parts);

/// What the loop cannot do of a strategy; "" = nothing.
std::string cannot(const TrainingLoop& loop, const models::Strategy& s);

/// Ranks that share one copy of the optimizer's states.
int sharers_of(const models::Strategy& s);

}  // namespace trnplan::second_opinion
