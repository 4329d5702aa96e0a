// The two scripts of NxD that train Llama: aws-neuron/neuronx-distributed@fbac349 examples/training/llama.
// With one stage the model wrapper of the pipeline's script ignores micro-batches, and its result has no backward
// pass; so one stage is a matter of the other script.
#pragma once

#include "planner/plan/target.h"
#include "targets/flags/flags.h"
#include "targets/flags/recipe.h"

namespace trnplan::targets {

/// Below the folder of checkpoints: the tag whose weights, and nothing else, both scripts load where there is no
/// checkpoint to go on from.
inline constexpr const char* kWeightsTag = "pretrained_weight";

/// tp_zero1_llama_hf_pretrain/tp_zero1_llama_hf_pretrain.py: PP 1. Requires: the strategy is expressible.
planner::TrainCommand tensor_script(const models::Job& job, const models::Strategy& s);

/// tp_pp_llama_hf_pretrain/run_llama_nxd.py: PP of two and more.
planner::TrainCommand pipeline_script(const models::Job& job, const models::Strategy& s);

/// The shipped recipes next in size to the model, and what the flags can say instead.
const Recipe& tensor_recipe(const models::Architecture& a);
const Recipe& pipeline_recipe(const models::Architecture& a);
Learnable tensor_learnable();
Learnable pipeline_learnable();

/// Sequence length at which the pipeline's script recomputes LlamaMLP besides CoreAttention, when it recomputes
/// selectively.
inline constexpr int kMlpRecomputeSequence = 8192;

}  // namespace trnplan::targets
