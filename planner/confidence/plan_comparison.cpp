#include "planner/confidence/plan_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/framework/framework.h"
#include "models/framework/strategy_keys.h"
#include "planner/confidence/plan_ratio.h"
#include "units/normal.h"

namespace trnplan::planner {

namespace {

double tokens_of(const ComparedPlan& p) {
  return static_cast<double>(p.plan.global_batch) * p.job.training.sequence;
}

std::vector<KeyDifference> differences(const ComparedPlan& a, const ComparedPlan& b) {
  std::vector<KeyDifference> all;
  const auto add = [&all](std::string_view key, std::string first, std::string second) {
    if (first != second) all.push_back({std::string(key), {std::move(first), std::move(second)}});
  };
  add("instance", a.plan.instance, b.plan.instance);
  add("nodes", std::to_string(a.plan.nodes), std::to_string(b.plan.nodes));
  add("global_batch", std::to_string(a.plan.global_batch), std::to_string(b.plan.global_batch));
  add("sequence", std::to_string(a.job.training.sequence), std::to_string(b.job.training.sequence));
  // Of experts that TP cuts on both sides, TP says it.
  const bool whole = models::has_whole_experts(a.plan.strategy) || models::has_whole_experts(b.plan.strategy);
  for (const models::StrategyKey& key : models::strategy_keys()) {
    if (key.name == "expert_tensor_parallel" && !whole) continue;
    add(key.name, models::text_of(key.stated(a.plan.strategy)), models::text_of(key.stated(b.plan.strategy)));
  }
  return all;
}

std::vector<PartSeconds> causes(const models::StepReport& a, const models::StepReport& b, double scale) {
  std::vector<PartSeconds> all;
  for (std::size_t i = 0; i < a.breakdown.size(); ++i) {
    const Seconds first = a.breakdown[i], second = scale * b.breakdown[i];
    if (first.value > 0 || second.value > 0)
      all.push_back({std::string(to_string(static_cast<models::Category>(i))), {first, second}});
  }
  return all;
}

std::vector<PartSeconds> operators(const models::StepReport& a, const models::StepReport& b, double scale) {
  std::map<std::string, std::array<Seconds, 2>> by_name;
  for (const auto& [name, seconds] : a.by_operator) by_name[name][0] = by_name[name][0] + seconds;
  for (const auto& [name, seconds] : b.by_operator) by_name[name][1] = by_name[name][1] + scale * seconds;
  std::vector<PartSeconds> all;
  for (const auto& [name, seconds] : by_name) all.push_back({name, seconds});
  const auto apart = [](const PartSeconds& p) { return std::abs((p.seconds[1] - p.seconds[0]).value); };
  std::stable_sort(all.begin(), all.end(),
                   [&](const PartSeconds& p, const PartSeconds& q) { return apart(p) > apart(q); });
  return all;
}

}  // namespace

PlanComparison compare_plans(std::array<ComparedPlan, 2> plans,
                             const std::array<const models::Profile*, 2>& profiles) {
  PlanComparison c;
  c.plans = std::move(plans);
  const auto& [first, second] = c.plans;
  const models::StepReport &a = first.plan.report, &b = second.plan.report;
  c.differs = differences(first, second);
  c.step_scale = tokens_of(first) / tokens_of(second);
  const RatedPlan rated_first{first.job, first.plan, *profiles[0]},
      rated_second{second.job, second.plan, *profiles[1]};
  c.shared = share_stack(rated_first, rated_second);
  c.ratio = plan_ratio(rated_first, rated_second, c.step_scale);
  c.by_cause = causes(a, b, c.step_scale);
  c.by_operator = operators(a, b, c.step_scale);
  return c;
}

std::array<double, 3> times_as_long(const models::LogRatio& ratio) {
  if (!ratio.states.empty())
    return {std::exp(ratio.quantile(0.05)), std::exp(ratio.mean), std::exp(ratio.quantile(0.95))};
  const double half = kNinetyPercent * ratio.sd;
  return {std::exp(ratio.mean - half), std::exp(ratio.mean), std::exp(ratio.mean + half)};
}

}  // namespace trnplan::planner
