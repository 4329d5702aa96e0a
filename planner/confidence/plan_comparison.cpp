#include "planner/confidence/plan_comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/framework/framework.h"
#include "models/framework/strategy_keys.h"
#include "models/uncertainty/spread.h"
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
  // Of experts that TP cuts on both sides, TP says it.
  const bool whole = models::has_whole_experts(a.plan.strategy) || models::has_whole_experts(b.plan.strategy);
  for (const models::StrategyKey& key : models::strategy_keys()) {
    if (key.name == "expert_tensor_parallel" && !whole) continue;
    add(key.name, models::text_of(key.stated(a.plan.strategy)), models::text_of(key.stated(b.plan.strategy)));
  }
  return all;
}

/// Sd of the log of a step, from its interval.
double log_sd(const models::StepReport& r) {
  return std::log(r.high / r.low) / (2 * kNinetyPercent);
}

/// log(scale * b / a) of two steps in networks of their own. `apart(sd of a, sd of b)`: the sd of the ratio.
template <class Apart>
models::LogRatio ratio_across(const models::StepReport& a, const models::StepReport& b, double scale,
                              const Apart& apart) {
  if (!a.slow && !b.slow) return {std::log(scale * b.step / a.step), apart(log_sd(a), log_sd(b))};
  models::LogRatio ratio{std::log(scale * b.step / a.step),
                         apart(models::mixture_of(a).front().sd, models::mixture_of(b).front().sd)};
  for (const models::MixturePart& x : models::mixture_of(a)) {
    for (const models::MixturePart& y : models::mixture_of(b))
      ratio.states.push_back({x.weight * y.weight, std::log(scale) + y.mean - x.mean, apart(x.sd, y.sd)});
  }
  return ratio;
}

/// Sd of the log of the ratio of two steps of one stack on two machines with one set of parameters: what these
/// leave open of it, the two layouts' own errors and how little each is tested, and what is unknown of sites that were
/// learnt elsewhere.
double related_log_sd(const ComparedPlan& a, const ComparedPlan& b, const models::Profile& profile) {
  const auto parts = [&](const ComparedPlan& p) {
    return models::spread_parts(profile, p.job, p.plan.strategy, models::log_gradient(p.plan.report));
  };
  const models::SpreadParts of_a = parts(a), of_b = parts(b);
  std::vector<double> difference = of_b.gradient;
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= of_a.gradient[i];
  const double in_a = models::factor_shares(profile, a.job).variance,
               in_b = models::factor_shares(profile, b.job).variance;
  // What is unknown of the stack on both sides counts for neither.
  const double rest = std::abs((of_a.shared - in_a) - (of_b.shared - in_b));
  const double untested = square(a.plan.untested_log_sd) + square(b.plan.untested_log_sd);
  return std::sqrt(models::log_variance(profile, difference) + of_a.own + of_b.own + in_a + in_b + rest +
                   untested);
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
  const bool one_stack =
      profiles[0]->name == profiles[1]->name && first.job.software.framework == second.job.software.framework;
  c.shared = one_stack && first.plan.instance == second.plan.instance;
  if (c.shared) {
    c.ratio = tested(models::log_ratio(a, b, *profiles[0], c.step_scale), first.plan, second.plan);
  } else if (one_stack && !profiles[0]->network && !profiles[1]->network) {
    const double sd = related_log_sd(first, second, *profiles[0]);
    c.ratio = ratio_across(a, b, c.step_scale, [sd](double, double) { return sd; });
  } else {
    c.ratio = ratio_across(a, b, c.step_scale, [](double x, double y) { return std::hypot(x, y); });
  }
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
