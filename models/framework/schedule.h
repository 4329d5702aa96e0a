// Pipeline schedules: in which order a stage computes its micro-batches and talks to its neighbours.
//
// 1F1B as NxD runs it: min(PP-1-stage, m) warm-up forwards, then forward and backward in turn, then the
// remaining backwards. In the steady state the gradient is received before the pending activation is sent,
// and the pending gradient sent before the activation is received. Sends and receives are two-rank
// all-gathers, so both sides take part at the same time.
//
// Interleaved (virtual pipeline): stage i holds V chunks of layers; chunk c of stage i is part c*PP + i of
// the model. min(2(PP-1-i) + (V-1)PP, mV) warm-up forwards, all mV when m == PP; then forward and backward in
// turn; forwards go through PP micro-batches of a chunk before the next chunk, backwards likewise from the
// last chunk (Megatron-LM's order; D. Narayanan et al., SC 2021, section 2.2.2). m must be a multiple of PP.
//
// Zero bubble (ZB-H1; P. Qi et al., ICLR 2024, section 3): 1F1B with each backward split into the gradient of
// the input, which the stage before waits for, and that of the weights, which fills the bubble; as many
// activations alive as 1F1B. A what-if: NxDT has no such schedule.
//
// Source: aws-neuron/neuronx-distributed fbac349 src/neuronx_distributed/pipeline/scheduler.py,
// pipeline/comm.py.
#pragma once

#include <vector>

namespace trnplan::models {

/// One thing a stage does. A transfer names the boundary below or above the stage and appears in both stages'
/// lists.
struct StageAction {
  enum class Kind {
    forward,          ///< compute
    backward,         ///< compute; with a split backward the gradient of the input
    weights,          ///< compute: the gradient of the weights
    activation_up,    ///< this stage to the next: send
    activation_down,  ///< from the stage before: receive
    gradient_down,    ///< this stage to the one before: send
    gradient_up,      ///< from the next stage: receive
  } kind;
  int micro_batch = 0;
  int chunk = 0;
  bool operator==(const StageAction&) const = default;
};

/// The actions of `stage` (0-based) of `stages`, in order. Cost: O(micro_batches).
std::vector<StageAction> one_f_one_b(int stage, int stages, int micro_batches);
std::vector<StageAction> zero_bubble(int stage, int stages, int micro_batches);

/// What a stage computes, in order; its sends and receives follow from it. Throws std::invalid_argument
/// unless `micro_batches` is a multiple of `stages`.
std::vector<StageAction> interleaved(int stage, int stages, int chunks, int micro_batches);

}  // namespace trnplan::models
