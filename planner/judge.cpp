#include "planner/judge.h"

#include <algorithm>

#include <fmt/format.h>

#include "planner/rules.h"

namespace trnplan::planner {

namespace {

/// Without these the program has no shape, or the simulator no model of it.
bool has_shape(const std::vector<Violation>& broken) {
  return std::all_of(broken.begin(), broken.end(), [](const Violation& v) {
    return v.rule == "pipeline-parity" || v.rule == "vocabulary" || v.rule == "tied-embeddings" ||
           v.rule == "flash-attention";
  });
}

Violation memory_violation(const models::Job& job, const models::Strategy& s, const models::Profile& profile,
                           const models::Memory& memory) {
  Violation v{"memory", memory_message(memory), "raise TP or PP"};
  for (const models::Recompute& policy :
       {models::Recompute{.core_attention = true, .mlp = true}, models::Recompute{.full = true}}) {
    models::Strategy stronger = s;
    stronger.recompute = policy;
    const models::Memory less = models::memory_of(job, models::canonical(stronger), profile);
    if (!less.fits()) continue;
    v.fix =
        fmt::format("recompute {} needs {:.1f} GiB", to_string(policy), in_gibibytes(less.worst().peak()));
    break;
  }
  return v;
}

}  // namespace

std::string memory_message(const models::Memory& memory) {
  const models::StageMemory& w = memory.worst();
  const auto gib = [](Bytes b) { return in_gibibytes(b); };
  return fmt::format(
      "stage {} needs {:.1f} of {:.1f} GiB a core ({}): parameters {:.2f}, gradients {:.2f}, optimizer "
      "{:.2f}, activations "
      "{:.2f}, logits {:.2f}, staging {:.2f}, runtime {:.2f}",
      w.stage, gib(w.peak()), gib(memory.limit), to_string(w.instant), gib(w.parameters), gib(w.gradients),
      gib(w.optimizer), gib(w.activations), gib(w.logits), gib(w.staging), gib(w.runtime));
}

bool Judgement::refused() const {
  return std::any_of(broken.begin(), broken.end(), [](const Violation& v) { return !v.doubtful; });
}

Judgement judge(const models::Job& job, const models::Strategy& strategy, const models::Profile& profile) {
  Judgement j;
  j.broken = rule_violations(job, strategy);
  const std::string missing = models::StepModel::not_modelled(job, strategy);
  if (!missing.empty()) j.broken.push_back({"not-modelled", missing, "leave it at its default"});
  if (!has_shape(j.broken)) return j;

  const topology::ChipGraph graph(job.cluster.instance);
  for (Violation& v : replica_group_violation(placement_verdict(job, strategy, graph))) {
    const auto near = supported_neighbours(job.cluster, graph,
                                           {strategy.tensor_parallel, strategy.context_parallel,
                                            strategy.data_parallel, strategy.pipeline_parallel});
    v.fix = near.empty() ? "choose another PP"
                         : fmt::format("TP {} x DP {} is accepted", near.front().tensor, near.front().data);
    j.broken.push_back(std::move(v));
  }
  j.plan = make_plan(job, strategy, profile, graph);
  if (!j.plan->memory.fits()) j.broken.push_back(memory_violation(job, strategy, profile, j.plan->memory));
  return j;
}

}  // namespace trnplan::planner
