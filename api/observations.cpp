#include "api/observations.h"

#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "io/catalog/observations.h"

namespace trnplan::api {

std::vector<planner::Observation> load_observations(const std::string& profile) {
  if (!profile.ends_with(".json")) return {};
  return io::read_observations(profile);
}

std::string keep_observations(const std::string& text, const std::string& profile, const std::string& path,
                              Remarks& remarks) {
  std::vector<planner::Observation> known = load_observations(profile);
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    try {
      const std::vector<planner::Observation> older = io::read_observations(path);
      known.insert(known.end(), older.begin(), older.end());
    } catch (const InputError&) {
      remarks.add(path + " was not a profile; none of it is kept");
    }
  }
  return known.empty() ? text : io::with_observations(text, known);
}

void tell_observations(planner::SearchResult& result, const std::vector<planner::Observation>& observations,
                       const models::Job& job, Remarks& remarks) {
  if (observations.empty()) return;
  for (auto* list : {&result.refused, &result.doubtful})
    for (planner::Refusal& r : *list) planner::annotate(r.why, observations, job, r.strategy);
  for (planner::Plan& plan : result.plans)
    for (planner::Violation& v : plan.doubts)
      planner::annotate(v, observations, planner::as_planned(job, plan), plan.strategy);
  if (result.infeasible)
    for (planner::RuleCount& r : result.infeasible->rules)
      planner::annotate(r.why, observations, job, r.example);
  if (result.plans.empty()) return;
  remarks.add(planner::remarks_on_full(observations, job, result.plans), "observation");
  const planner::Plan& winner = *result.recommended_plan();
  // Of the others, why a plan that ranks high is not recommended.
  for (const planner::Plan& plan : result.plans) {
    if (plan.instance != job.cluster.instance.name) continue;
    const models::Job planned = planner::as_planned(job, plan);
    if (&plan == &winner || !planner::seen_to_fit(observations, planned, plan.strategy).value_or(true))
      remarks.add(planner::remarks_on(observations, planned, plan.strategy), "observation");
  }
}

std::string tell_observations(topology::PlacementVerdict& verdict,
                              const std::vector<planner::Observation>& observations,
                              const topology::Instance& instance) {
  std::string lines;
  if (observations.empty()) return lines;
  std::set<std::string> said;
  const auto tell = [&](topology::GroupVerdict& g) {
    const std::string observed = planner::observed(observations, instance, g);
    if (observed.empty()) return;
    g.source += (g.source.empty() ? "" : "; ") + observed;
    const std::string line = fmt::format("{} groups on chips {}: {}\n", topology::to_string(g.kind),
                                         topology::number_list(g.chips), observed);
    if (said.insert(line).second) lines += line;
  };
  for (topology::GroupVerdict& g : verdict.groups) tell(g);
  if (verdict.offending) tell(*verdict.offending);
  return lines;
}

}  // namespace trnplan::api
