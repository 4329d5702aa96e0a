// A second opinion on a plan: legality and memory worked out again, from the job and the strategy alone.
//
// Shares no code with the search: neither its rules, candidates and verdicts nor the memory model, frameworks and
// schedules; only the plain structs of job, strategy, instance and profile. Rank order, rings and bytes are derived
// anew, by the plainest way there is (a grid of ranks, backtracking over sets of chips, a list of tensors, a pipeline
// run tick by tick), so that a mistake has to be made twice to go unnoticed. tests/floors.sh looks at the includes.
//
// Sources: as planner/check/rules.h, topology/verdict.h and models/memory/memory.h name them:
// aws-neuron/neuronx-distributed@fbac349:src/neuronx_distributed/parallel_layers/parallel_state.py (order of
// ranks, degrees), pipeline/scheduler.py, pipeline/partition.py, trainer/trainer.py, kernels/flash_attn.py;
// aws-neuron/neuronx-distributed-training@9169aa03:src/neuronx_distributed_training/models/hf_models/
// modeling_llama.py; aws-neuron/aws-neuron-sdk@81ce03ae:neuron-runtime/about/collectives.rst; of GPUs what
// docs/models.md says under "Pipeline and step" and "Memory".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "units/quantity.h"

namespace trnplan::second_opinion {

/// What is wrong.
struct Fault {
  std::string
      rule;  ///< the word of docs/rules.md; "job" for what the job does not allow, "claim" for what the plan says
  std::string what;  ///< one sentence
};

/// What a plan says of itself.
struct StatedPlan {
  models::Strategy strategy;
  int nodes = 1;
  std::string instance;
  int global_batch = 0;      ///< sequences a step
  int micro_batches = 0;     ///< per data-parallel rank and step
  Seconds step{};            ///< for deadline and budget; 0 = not claimed
  std::vector<Bytes> peaks;  ///< bytes of a core, one for each pipeline stage
};

struct CheckOptions {
  bool allow_doubtful = false;   ///< replica groups the runtime may refuse are let in
  double fit_probability = 0.9;  ///< with which every stage must fit
  std::string_view target;       ///< whose rules hold too: "nxdt"; "" = none's
};

/// What is wrong with a plan for `job` (with its search space and pins, deadline and budget); empty = nothing.
/// Peaks must agree to one part in a million. Cost: linear in ranks and in layers of the model, milliseconds for 60,000
/// ranks. Replica groups on nodes of more than 64 chips are not checked.
std::vector<Fault> check_plan(const models::Job& job, const StatedPlan& stated,
                              const models::Profile& profile, const CheckOptions& options = {});

/// The rules about numbers that a strategy breaks, and what of it has no modelled step; `job` with the cluster and batch
/// of the plan. Each word once. Requires: no degree below 1.
std::vector<Fault> broken_rules(const models::Job& job, const models::Strategy& strategy,
                                std::string_view target);

}  // namespace trnplan::second_opinion
