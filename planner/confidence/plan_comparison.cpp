#include "planner/confidence/plan_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/framework/strategy_keys.h"
#include "units/normal.h"
#include "units/square.h"

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
  for (const models::StrategyKey& key : models::strategy_keys())
    add(key.name, models::text_of(key.stated(a.plan.strategy)), models::text_of(key.stated(b.plan.strategy)));
  return all;
}

/// Sd of the log of a step, from its interval.
double log_sd(const models::StepReport& r) {
  return std::log(r.high / r.low) / (2 * kNinetyPercent);
}

/// log(scale * b / a) of two independent steps.
models::LogRatio independent_ratio(const models::StepReport& a, const models::StepReport& b, double scale) {
  models::LogRatio ratio{std::log(scale * b.step / a.step), std::hypot(log_sd(a), log_sd(b))};
  if (!a.slow && !b.slow) return ratio;
  ratio.sd = std::hypot(models::mixture_of(a).front().sd, models::mixture_of(b).front().sd);
  for (const models::MixturePart& x : models::mixture_of(a)) {
    for (const models::MixturePart& y : models::mixture_of(b)) {
      ratio.states.push_back(
          {x.weight * y.weight, std::log(scale) + y.mean - x.mean, std::hypot(x.sd, y.sd)});
    }
  }
  return ratio;
}

/// The ratio with the doubt of the plan that is less tested. It may have less work, and still not be faster.
models::LogRatio tested(models::LogRatio ratio, const Plan& a, const Plan& b) {
  const double more = square(a.untested_log_sd) - square(b.untested_log_sd);
  ratio.widen(std::abs(more));
  const models::Dominance first = models::Dominance::first_has_less,
                          second = models::Dominance::second_has_less;
  if ((more > 0 && ratio.dominance == first) || (more < 0 && ratio.dominance == second))
    ratio.dominance = models::Dominance::none;
  return ratio;
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
  c.shared = first.plan.instance == second.plan.instance && profiles[0]->name == profiles[1]->name &&
             first.job.software.framework == second.job.software.framework;
  if (c.shared)
    c.ratio = tested(models::log_ratio(a, b, *profiles[0], c.step_scale), first.plan, second.plan);
  else
    c.ratio = independent_ratio(a, b, c.step_scale);
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
