// The two scripts of NxD that train Llama: aws-neuron/neuronx-distributed@fbac349 examples/training/llama.
// With one stage, the model wrapper of the pipeline's script ignores micro-batches and returns a result
// without a backward pass. So a single stage uses the other script.
#pragma once

#include "planner/plan/target.h"
#include "targets/flags/flags.h"
#include "targets/flags/recipe.h"

namespace trnplan::targets {

/// Tag, below the folder of checkpoints, from which both scripts load weights and nothing else if there is no
/// checkpoint to resume.
inline constexpr const char* kWeightsTag = "pretrained_weight";

/// tp_zero1_llama_hf_pretrain/tp_zero1_llama_hf_pretrain.py: PP 1. Requires: the strategy is expressible.
planner::TrainCommand tensor_script(const models::Job& job, const models::Strategy& s);

/// tp_pp_llama_hf_pretrain/run_llama_nxd.py: PP of 2 or more.
planner::TrainCommand pipeline_script(const models::Job& job, const models::Strategy& s);

/// Shipped recipes closest in size to the model, and the settings that the flags can change.
const Recipe& tensor_recipe(const models::Architecture& a);
const Recipe& pipeline_recipe(const models::Architecture& a);
Learnable tensor_learnable();
Learnable pipeline_learnable();

/// Sequence length from which the pipeline's script recomputes LlamaMLP in addition to CoreAttention under
/// selective recompute.
inline constexpr int kMlpRecomputeSequence = 8192;

}  // namespace trnplan::targets
