#include "api/judged_row.h"

#include <fmt/format.h>

#include "models/uncertainty/mixture.h"

namespace trnplan::api {

using calibrate::ScoredRow;

std::string problem_of(const InputError& e) {
  const Diagnostic& d = e.faults().front();
  return d.key.empty() ? d.problem : d.key + ": " + d.problem;
}

void take_memory(const planner::Judgement& j, ScoredRow& row, const models::Profile& profile,
                 calibrate::RowMemory memory) {
  if (!j.memory || !memory.known) return;
  const models::StageMemory& stage = memory.first_stage ? j.memory->stages.front() : j.memory->worst();
  row.predicted_memory = models::held_by(stage, profile, memory.held, j.memory->limit).value;
  row.fit_probability = j.memory->fit_probability;
}

void take(const planner::Judgement& j, ScoredRow& row, const models::Profile& profile,
          calibrate::RowMemory memory) {
  take_memory(j, row, profile, memory);
  if (!j.plan) {
    row.skipped = planner::why_no_plan(j);
    return;
  }
  row.predicted = j.plan->report.step.value;
  row.low = j.plan->report.low.value;
  row.high = j.plan->report.high.value;
  if (j.plan->report.slow) row.mean = models::mean_step(j.plan->report).value;
}

std::string key_of(const models::Job& job, const std::string& strategy) {
  const models::Architecture& a = job.architecture;
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}{}{}{}|{}|{}|{}|{}|{}", a.layers, a.hidden, a.intermediate,
                     a.heads, a.kv_heads, a.vocabulary, a.max_positions, a.experts, static_cast<int>(a.mlp),
                     a.biases, a.learned_positions, a.tied_embeddings, job.training.sequence,
                     job.training.global_batch, job.cluster.instance.name, job.cluster.cores(), strategy);
}

}  // namespace trnplan::api
