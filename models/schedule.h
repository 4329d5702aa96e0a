// Pipeline schedules: in which order a stage computes its micro-batches and talks to its neighbours.
//
// 1F1B as NxD runs it: min(PP-1-stage, m) warm-up forwards, then forward and backward in turn, then the
// remaining backwards. In the steady state the gradient is received before the pending activation is sent,
// and the pending gradient sent before the activation is received. Sends and receives are two-rank
// all-gathers, so both sides take part at the same time.
// Source: aws-neuron/neuronx-distributed fbac349 src/neuronx_distributed/pipeline/scheduler.py,
// pipeline/comm.py. Not modelled: the interleaved schedule (virtual pipeline).
#pragma once

#include <vector>

namespace trnplan::models {

/// One thing a stage does. A transfer names the boundary below or above the stage and appears in both stages'
/// lists.
struct StageAction {
  enum class Kind {
    forward,          ///< compute
    backward,         ///< compute
    activation_up,    ///< this stage to the next: send
    activation_down,  ///< from the stage before: receive
    gradient_down,    ///< this stage to the one before: send
    gradient_up,      ///< from the next stage: receive
  } kind;
  int micro_batch = 0;
  bool operator==(const StageAction&) const = default;
};

/// The actions of `stage` (0-based) of `stages`, in order. Cost: O(micro_batches).
std::vector<StageAction> one_f_one_b(int stage, int stages, int micro_batches);

}  // namespace trnplan::models
