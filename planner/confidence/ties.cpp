#include "planner/confidence/ties.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "planner/confidence/experiment.h"
#include "planner/search/explain.h"

namespace trnplan::planner {

namespace {

bool alike(const Plan& a, const Plan& b) {
  return a.strategy.framework == b.strategy.framework && same_layout(a.strategy, b.strategy) &&
         same_experts(a.strategy, b.strategy) && a.strategy.virtual_pipeline == b.strategy.virtual_pipeline &&
         a.strategy.micro_batch == b.strategy.micro_batch && a.nodes == b.nodes && a.instance == b.instance;
}

bool is_safer(const Plan& a, const Plan& than) {
  return fits_probability(a) >= fits_probability(than) &&
         a.strategy.pipeline_cuts.size() <= than.strategy.pipeline_cuts.size();
}

}  // namespace

const Plan& fastest_of(const models::Job& job, const SearchResult& result, const std::vector<Plan>& others) {
  const auto cost = [&](const Plan& p) {
    const double fewest = job.objective == models::Objective::deadline ? p.nodes : 0;
    return std::pair(
        fewest, (job.objective == models::Objective::cost ? p.usd_per_hour : 1) / p.report.tokens_per_second);
  };
  const Plan* fastest = &result.plans.front();
  for (const Plan& p : others)
    if (cost(p) < cost(*fastest)) fastest = &p;
  return *fastest;
}

std::vector<Tie> ties_of(const models::Job& job, const SearchResult& result, const models::Profile& profile,
                         double sure, const std::vector<Plan>& others) {
  std::vector<Tie> ties;
  if (result.plans.empty()) return ties;
  const Plan &first = *result.recommended_plan(), &fastest = fastest_of(job, result, others);
  std::vector<const Plan*> seen = {&first};
  const auto add = [&](const Plan& p) {
    const bool known = std::any_of(seen.begin(), seen.end(), [&](const Plan* o) {
      return o->strategy == p.strategy && o->nodes == p.nodes && o->instance == p.instance;
    });
    if (known) return;
    seen.push_back(&p);
    const std::optional<double> probability = first_is_better(job, first, p, profile);
    // No tie: a plan that is surely better or less likely to work, which was passed over for its risk, and the fastest,
    // which is named for itself.
    if (!probability || *probability >= sure || *probability <= 1 - sure || &p == &fastest) return;
    if (p.works.value_or(1) < sure * first.works.value_or(1)) return;
    const auto same = std::find_if(ties.begin(), ties.end(), [&](const Tie& t) { return alike(t.plan, p); });
    if (same == ties.end())
      ties.push_back({p, *probability, 0, alike(first, p)});
    else
      ++same->others;
  };
  for (const Plan& p : result.plans) add(p);
  for (const Plan& p : result.layouts) add(p);
  for (const Plan& p : others) add(p);
  std::stable_sort(ties.begin(), ties.end(), [&](const Tie& a, const Tie& b) {
    const auto key = [&](const Tie& t) {
      return std::tuple(t.like_first, !is_safer(t.plan, first), t.first_is_better);
    };
    return key(a) < key(b);
  });
  return ties;
}

}  // namespace trnplan::planner
