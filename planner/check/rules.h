// Rules for strategies that neuronx-distributed can train and the Neuron runtime accepts. A target may have
// further rules of its own (Target::rules).
//
// One small function per rule in a table (rules.cpp). To add a rule, add a function and a line there, and a
// row in api/rules/1_strategy.yaml, which explains the rule and names its source.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job.h"
#include "planner/plan/plan.h"
#include "planner/plan/target.h"
#include "topology/chip_graph.h"
#include "topology/verdict.h"

namespace trnplan::planner {

/// Returns every rule about numbers that `strategy` breaks for `job`: divisibility, heads, kv-replicator,
/// layers, pipeline-parity, moe, batch, interleaved, context-parallel, flash-attention, sequence-parallel,
/// rank-order; not-modelled for an instance type; then those of the target (Target::rules), if there is one.
/// Memory and replica groups are separate. Cost: microseconds.
std::vector<Violation> rule_violations(const models::Job& job, const models::Strategy& strategy,
                                       const Target* target = nullptr);
/// True if there are violations; stops at the first.
bool breaks_a_rule(const models::Job& job, const models::Strategy& strategy, const Target* target = nullptr);

/// Kinds of attention and recomputation that rules tell apart: strategies that differ in these alone, and are of one
/// kind, break the same rules.
inline constexpr std::size_t kKindsOfRecompute = 4;
[[nodiscard]] inline std::size_t kind_of_recompute(const models::Strategy& s) {
  return (s.flash_attention ? 1U : 0U) + (s.recompute.full || s.recompute.mlp ? 2U : 0U);
}

/// The rules about numbers that every strategy of the job breaks, whatever is chosen: the job contradicts
/// itself. Rule "batch" is left out: the search answers it with the nearest batch. Empty for an instance type
/// that is not modelled, since that is no mistake. Cost: one enumeration.
std::vector<Violation> contradictions(const models::Job& job, const Target* target = nullptr);

/// The ids of the rules that hold for every target, in their order; an id may occur twice.
std::vector<std::string_view> rule_ids();

/// True if a training step on the instance is timed; otherwise only its groups and memory are judged.
bool times_steps_on(const topology::Instance& instance);
/// Reason why it is not timed, as a sentence without its full stop. Precondition: it is not.
std::string why_untimed(const topology::Instance& instance);
/// Features of the strategy that the simulator does not cover, as rule "not-modelled".
std::optional<Violation> not_modelled(const models::Job& job, const models::Strategy& strategy);
/// Rule "not-modelled" for a step beyond the simulation clock.
Violation beyond_the_clock();

/// The worst verdict on the strategy's replica groups, KV replicas included. Precondition: no violation of
/// `divisibility`, `kv-replicator` or `rank-order`.
topology::PlacementVerdict placement_verdict(const models::Job& job, const models::Strategy& strategy,
                                             const topology::ChipGraph& graph);

/// The violation of a verdict; empty if supported. The message names the first group of the worst verdict,
/// its ranks and chips.
std::vector<Violation> replica_group_violation(const topology::PlacementVerdict& verdict);

/// Splits of the same ranks into tensor and data parallel (context and pipeline unchanged) with groups that
/// are all supported, nearest tensor-parallel degree first. `kv_heads` of the model: if there are more
/// tensor-parallel ranks than that, they hold replicas, and the groups of these count too; 0 = not known.
std::vector<topology::Degrees> supported_neighbours(const topology::Cluster& cluster,
                                                    const topology::ChipGraph& graph,
                                                    topology::Degrees degrees, int kv_heads = 0);

/// "tp=8 or tp=16": the degrees next to the strategy's own for which `fits` holds, among those that divide a
/// node's cores; `otherwise` if there is none.
std::string near_tensor_parallel(const models::Job& job, const models::Strategy& strategy,
                                 const std::function<bool(int)>& fits, const char* otherwise);

/// Fix for a refused or doubtful group.
std::string replica_group_fix(const models::Job& job, const topology::ChipGraph& graph,
                              const models::Strategy& strategy, const topology::GroupVerdict& offending);

}  // namespace trnplan::planner
