// The order in which the stages of a pipeline compute, derived from the definition of each schedule: a
// pipeline that is run tick by tick.
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

/// Definition of a schedule.
struct Definition {
  int least = 1, most = 1;    ///< chunks of a stage
  bool whole_rounds = false;  ///< micro-batches must be a multiple of the stages
  bool in_a_v = false;        ///< every second chunk goes down the stages
  bool splits = false;        ///< splits the backward pass into the gradients of input and of weights
  bool meets = false;         ///< it is known how sends and receives pair up
  bool piles_up = false;      ///< every micro-batch is alive at once
};

/// Definition of a schedule. Absent for one that has none yet: it must not run.
std::optional<Definition> definition_of(models::Schedule schedule);

/// The schedule that a strategy's pipeline runs.
models::Schedule defined_schedule(const models::Strategy& s);

/// Passes of each stage in order; none if the schedule has no definition. Requires: a schedule that permits
/// so many chunks and micro-batches. Cost: O(stages x micro-batches x chunks).
std::vector<std::vector<Pass>> passes_of(models::Schedule schedule, int stages, int chunks,
                                         int micro_batches);

/// Passes of a stage between their forward and the end of their backward, at their largest number.
struct Alive {
  int passes = 0;
  int layers = 0;    ///< of all of them
  int deferred = 0;  ///< of these, layers with weights' gradients left, the current pass included
  /// Live passes after a forward pass of the last chunk, which the loss follows on the last stage.
  int layers_at_loss = 0, passes_at_loss = 0, deferred_at_loss = 0;
  /// Live passes at the moment when the gradients of weights of most layers are left.
  int late_layers = 0, late_deferred = 0, late_passes = 0;
};

/// `layers` are those of each chunk of the stage.
Alive alive_in(const std::vector<Pass>& passes, const std::vector<int>& layers);

}  // namespace trnplan::second_opinion
