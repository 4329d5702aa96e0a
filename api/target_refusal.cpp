#include "api/target_refusal.h"

#include <algorithm>

#include "io/catalog/catalog.h"
#include "planner/plan/space.h"
#include "planner/search/candidates.h"
#include "targets/registry.h"

namespace trnplan::api {

namespace {

/// The target's own rules, without those of every target.
bool has_rule(const planner::Target& target, const models::Job& job, const planner::RuleCount& broken) {
  const std::vector<planner::Violation> own = target.rules(job, broken.example);
  return std::any_of(own.begin(), own.end(),
                     [&](const planner::Violation& v) { return v.rule == broken.why.rule; });
}

}  // namespace

std::optional<TargetRefusal> target_refusal(const PlanRequest& o, const PlanResult& result) {
  const planner::SearchResult& search = result.search;
  if (!search.plans.empty() || !search.complete || !search.infeasible) return std::nullopt;
  const planner::Infeasible& why = *search.infeasible;
  if (why.too_slow || why.too_expensive) return std::nullopt;
  const models::Job& job = result.job;
  const planner::Target& target = o.target.empty() ? targets::of(job) : *targets::find(o.target);
  const auto broken = std::find_if(why.rules.begin(), why.rules.end(),
                                   [&](const planner::RuleCount& r) { return has_rule(target, job, r); });
  if (broken == why.rules.end()) return std::nullopt;
  TargetRefusal refusal{std::string(target.name()), broken->why, broken->strategies, {}};
  const models::Profile profile = load_profile(io::Catalog::standard(), o.profile);
  for (const planner::Target* other : targets::all()) {
    if (has_rule(*other, job, *broken) ||
        !planner::feasible(job, profile, o.allow_doubtful, o.fit_probability, other))
      continue;
    refusal.others.push_back({std::string(other->name()), !planner::is_beyond_target(job, other)});
  }
  if (refusal.others.empty()) return std::nullopt;
  return refusal;
}

}  // namespace trnplan::api
