#include "api/documents.h"

#include "io/output/cluster_json.h"
#include "io/output/collective_json.h"
#include "io/output/compare_json.h"
#include "io/output/explained_profile_json.h"
#include "io/output/fit_json.h"
#include "io/output/gpu_fit_json.h"
#include "io/output/memory_json.h"
#include "io/output/offerings_json.h"
#include "io/output/plan_json.h"
#include "io/output/score_json.h"
#include "io/output/support_json.h"
#include "io/output/validation_json.h"
#include "io/output/whatif_json.h"
#include "topology/chip_graph.h"

namespace trnplan::api {

std::string document(const PlanResult& r) {
  return io::search_json(r.search, r.job, r.wall.value, r.baseline ? &*r.baseline : nullptr, &r.confidence,
                         r.run ? &*r.run : nullptr, r.outlooks);
}

std::string document(const SimulateResult& r) {
  const planner::Judgement& judged = r.judgement;
  if (!judged.plan) return io::refusal_json(judged.broken);
  if (!r.scenario) return io::plan_json(*judged.plan, judged.broken);
  const io::ShownScenario scenario{&r.scenario->scenario, &r.scenario->report, &r.scenario->work,
                                   r.scenario->runs ? &*r.scenario->runs : nullptr};
  return io::plan_json(*judged.plan, judged.broken, &scenario);
}

std::string document(const WhatIfAnswered& r) {
  return io::whatif_json(r.result, r.question, r.job, r.reliability.name);
}

std::string document(const OfferingsAnswered& r) {
  return io::offerings_json(r.result, r.question, r.job, r.reliability.name);
}

std::string document(const planner::ClusterAnswer& r) {
  return io::cluster_json(r);
}

std::string document(const planner::PlanComparison& r) {
  return io::compare_json(r);
}

std::string document(const CheckResult& r) {
  return io::check_json(r.verdict, r.findings, r.prediction ? &*r.prediction : nullptr,
                        with_diffs(r.nearest, r.text, r.config), r.no_prediction);
}

namespace {

std::optional<io::ShownChange> shown_change(const std::optional<MachineChange>& change) {
  if (!change) return std::nullopt;
  const auto side = [](const std::optional<MachineChange::Side>& s) -> std::optional<io::ShownSide> {
    if (!s) return std::nullopt;
    return io::ShownSide{s->strategy, s->step.value, s->low.value, s->high.value};
  };
  return io::ShownChange{change->job, side(change->before), side(change->held), side(change->after)};
}

}  // namespace

std::string document(const CalibrateResult& r) {
  io::ReadLogs read{{}, r.step_fit ? r.all_steps() : r.steps};
  for (const calibrate::LogFile& file : r.files) read.files.push_back({file.path, &file.content});
  if (const auto& c = r.machine)
    return io::machine_fit_json(c->fit, c->before, c->instance, shown_change(r.change), read);
  if (r.kernels) return io::kernels_json(*r.kernels, r.profile, read);
  if (const auto& c = r.step_fit) return io::step_fit_json(c->fit, c->data->runs.excluded, c->kernels, read);
  if (const auto& c = r.collectives)
    return io::collective_fit_json(c->fit, c->chosen.left_out, r.instance, read);
  return io::logs_json(r.instance, read);
}

std::string document(const ScoreResult& r) {
  return io::row_scores_json(r.scores, r.profiles);
}

std::string document(const ValidateResult& r, calibrate::LeaveOut leave_out) {
  return io::step_validation_json(r.steps, r.profile, leave_out);
}

std::string document(const calibrate::GpuFit& r) {
  return io::gpu_fit_json(r);
}

std::string document(const models::ExplainedProfile& r) {
  return io::explained_profile_json(r);
}

std::string document(const MemoryValidationResult& r) {
  return io::memory_validation_json(r.rows, r.score, r.profile);
}

std::string document(const UptimeValidationResult& r) {
  return io::uptime_json(r.rows, r.reliability, r.profile);
}

std::string document(const CollectiveResult& r, bool sweep) {
  return sweep ? io::collective_sweep_json(r.cluster, r.profile, r.timed)
               : io::collective_json(r.cluster, r.profile, r.timed.front());
}

std::string document(const TopologyResult& r) {
  return io::topology_json(r.cluster, topology::ChipGraph(r.cluster.instance), r.verdict);
}

std::string document(const ExplainResult& r) {
  std::vector<io::ExplainedRule> rules;
  for (const RuleSet& set : r.sets)
    for (const RuleRow& row : set.rules)
      rules.push_back({row.id, set.name, row.what, row.why, row.fix, row.sources});
  return io::explain_json(rules);
}

std::string document(const SupportResult& r) {
  std::vector<io::SupportedPair> pairs;
  for (const Support& s : r.pairs) {
    pairs.push_back({s.model, s.instance, s.timed, s.planned, s.why_not, s.written(), s.launched, {}});
    for (const SupportedTarget& t : s.targets) pairs.back().targets.push_back({t.name, t.why_not, t.ending});
  }
  return io::support_json(pairs);
}

}  // namespace trnplan::api
