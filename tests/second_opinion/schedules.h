// The order in which the stages of a pipeline compute, from what defines each schedule: a pipeline that is run tick by tick.
#pragma once

#include <optional>
#include <vector>

#include "models/job/strategy.h"

namespace trnplan::second_opinion {

enum class PassKind { forward, backward, weights };

/// One pass of a micro-batch through a chunk of a stage's layers.
struct Pass {
  PassKind kind = PassKind::forward;
  int micro_batch = 0;
  int chunk = 0;
  bool operator==(const Pass&) const = default;
};

/// What a schedule is.
struct Definition {
  int least = 1, most = 1;    ///< chunks of a stage
  bool whole_rounds = false;  ///< only a multiple of the stages as micro-batches
  bool in_a_v = false;        ///< every second chunk goes down the stages
  bool splits = false;        ///< the backward pass, into the gradients of input and of weights
  bool meets = false;         ///< it is known how sends and receives pair up
  bool piles_up = false;      ///< every micro-batch is alive at once
};

/// Absent for one that is not written yet: it must not run.
std::optional<Definition> definition_of(models::Schedule schedule);

/// The one that a strategy's pipeline runs.
models::Schedule settled(const models::Strategy& s);

/// The passes of each stage in order; none where the schedule has no definition. Requires: a schedule that goes with so
/// many chunks and micro-batches. Cost: O(stages x micro-batches x chunks).
std::vector<std::vector<Pass>> passes_of(models::Schedule schedule, int stages, int chunks,
                                         int micro_batches);

/// What a stage holds of passes between their forward and the end of their backward, when most are.
struct Alive {
  int passes = 0;
  int layers = 0;    ///< of all of them
  int deferred = 0;  ///< of these, layers whose weights' gradients are left, the pass at hand among them
  /// After a forward pass of the last chunk, which the loss follows on the last stage.
  int layers_at_loss = 0, passes_at_loss = 0, deferred_at_loss = 0;
  /// When the gradients of weights of most layers are left.
  int late_layers = 0, late_deferred = 0, late_passes = 0;
};

/// `layers` of each chunk of the stage.
Alive alive_in(const std::vector<Pass>& passes, const std::vector<int>& layers);

}  // namespace trnplan::second_opinion
