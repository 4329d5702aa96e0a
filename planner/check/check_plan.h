// A second opinion on a plan: legality and memory worked out again, from the job and the strategy alone.
//
// Shares no code with the search: neither its rules, candidates and verdicts nor the memory model; only the
// plain structs of job, strategy, instance and profile. Rank order, rings and bytes are derived anew, by the
// plainest way there is (a grid of ranks, backtracking over sets of chips, a list of tensors, a walk through
// the pipeline's schedule), so that a mistake has to be made twice to go unnoticed. Bytes are
// worked out for the training loop of NxD; on GPUs the memory model has the only word.
//
// Sources: as planner/check/rules.h, topology/verdict.h and models/memory/memory.h name them:
// aws-neuron/neuronx-distributed@fbac349:src/neuronx_distributed/parallel_layers/parallel_state.py (order of
// ranks, degrees), pipeline/scheduler.py, pipeline/partition.py, trainer/trainer.py, kernels/flash_attn.py;
// aws-neuron/neuronx-distributed-training@9169aa03:src/neuronx_distributed_training/models/hf_models/
// modeling_llama.py; aws-neuron/aws-neuron-sdk@81ce03ae:neuron-runtime/about/collectives.rst.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "units/quantity.h"

namespace trnplan::planner {

/// Weights that a training loop shards too, and how many gathered copies of a layer's are alive at a time.
struct ShardedWeights {
  bool sharded = false;
  double copies = 0;
};

/// What a plan says of itself.
struct StatedPlan {
  models::Strategy strategy;
  int nodes = 1;
  std::string instance;
  int global_batch = 0;   ///< sequences a step
  int micro_batches = 0;  ///< per data-parallel rank and step
  Seconds step{};         ///< for deadline and budget; 0 = not claimed
  ShardedWeights weights;
  std::vector<Bytes> peaks;  ///< bytes of a core, one for each pipeline stage
};

struct CheckOptions {
  bool allow_doubtful = false;   ///< replica groups the runtime may refuse are let in
  double fit_probability = 0.9;  ///< with which every stage must fit
  std::string_view stack;        ///< that trains it (models::stack_named), whose limits hold
};

/// What is wrong with a plan for `job` (with its search space and pins, deadline and budget); empty = nothing.
/// One sentence each. Peaks must agree to one part in a million. Cost: linear in ranks and in layers of the
/// model, milliseconds for 60,000 ranks. Replica groups on nodes of more than 64 chips are not checked.
std::vector<std::string> check_plan(const models::Job& job, const StatedPlan& stated,
                                    const models::Profile& profile, const CheckOptions& options = {});

/// Bytes of a core at one instant, without the runtime's.
struct InstantBytes {
  double activations = 0;  ///< kept from forward to backward
  double passing = 0;      ///< logits, gathered and remade tensors, buffers
};
/// Of one pipeline stage.
struct StageBytes {
  double states = 0;
  InstantBytes instants[3];  ///< loss, first backward, optimizer
  double peak() const;       ///< without the runtime's
};

/// What each pipeline stage holds in bytes a core, worked out from the formulas of docs/models.md, "Memory".
/// `job` with the cluster and batch of the plan. Needs degrees that divide what they split.
std::vector<StageBytes> memory_by_formula(const models::Job& job, const models::Strategy& strategy,
                                          const ShardedWeights& sharded = {});

/// P(a stage fits into `limit`) by numerical integration over every factor but the runtime's: the plain way to
/// what models/memory/fit_probability.h has in closed form, good to about 0.01.
double fit_by_integration(const StageBytes& stage, bool one_graph, Bytes limit,
                          const models::Profile& profile);

enum class GroupOpinion { fine, doubtful, refused };
/// The worst of the strategy's replica groups on `cluster`, and which that is.
struct GroupsOpinion {
  GroupOpinion worst = GroupOpinion::fine;
  std::string why;  ///< "DP group of ranks 0, 16: ..."; empty when fine
};
GroupsOpinion groups_by_backtracking(const topology::Cluster& cluster, const models::Strategy& strategy);

}  // namespace trnplan::planner
