// A second opinion on a plan: its legality and memory, computed again from the job and the strategy alone.
//
// It shares no code with the search: neither its rules, candidates and verdicts nor the memory model,
// frameworks and schedules; only the plain structs of job, strategy, instance and profile. Rank order, rings
// and bytes are derived anew by the plainest methods (a grid of ranks, backtracking over sets of chips, a
// list of tensors, a pipeline run tick by tick), so that a mistake has to be made twice to remain unnoticed.
// tests/floors.sh checks the includes.
//
// Sources, as named in planner/check/rules.h, topology/verdict.h and models/memory/memory.h:
// aws-neuron/neuronx-distributed@fbac349:src/neuronx_distributed/parallel_layers/parallel_state.py (order of
// ranks, degrees), pipeline/scheduler.py, pipeline/partition.py, trainer/trainer.py, kernels/flash_attn.py;
// aws-neuron/neuronx-distributed-training@9169aa03:src/neuronx_distributed_training/models/hf_models/
// modeling_llama.py; aws-neuron/aws-neuron-sdk@81ce03ae:neuron-runtime/about/collectives.rst; for GPUs
// docs/models.md, "Pipeline and step" and "Memory".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "units/quantity.h"

namespace trnplan::second_opinion {

/// A fault of a plan.
struct Fault {
  /// The word of docs/rules.md; "job" = forbidden by the job, "claim" = wrong statement of the plan.
  std::string rule;
  std::string what;  ///< one sentence
};

/// Statements of a plan about itself.
struct StatedPlan {
  models::Strategy strategy;
  int nodes = 1;
  std::string instance;
  int global_batch = 0;      ///< sequences per step
  int micro_batches = 0;     ///< per data-parallel rank and step
  Seconds step{};            ///< for deadline and budget; 0 = not stated
  std::vector<Bytes> peaks;  ///< bytes per core, for each pipeline stage
};

struct CheckOptions {
  bool allow_doubtful = false;   ///< accepts replica groups that the runtime may refuse
  double fit_probability = 0.9;  ///< least probability that every stage fits
  std::string_view target;       ///< its rules apply too: "nxdt"; "" = none's
};

/// Faults of a plan for `job` (with its search space and pins, deadline and budget); empty = none. Peaks must
/// agree to one part in a million. Cost: linear in ranks and in layers of the model, milliseconds for 60,000
/// ranks. Replica groups on nodes of more than 64 chips are not checked.
std::vector<Fault> check_plan(const models::Job& job, const StatedPlan& stated,
                              const models::Profile& profile, const CheckOptions& options = {});

/// Rules about numbers that a strategy breaks, and its parts without a modelled step; `job` with the cluster
/// and batch of the plan. Each word appears once. Requires: no degree below 1.
std::vector<Fault> broken_rules(const models::Job& job, const models::Strategy& strategy,
                                std::string_view target);

}  // namespace trnplan::second_opinion
