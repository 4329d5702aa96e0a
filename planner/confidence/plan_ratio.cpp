#include "planner/confidence/plan_ratio.h"

#include <cmath>
#include <string_view>
#include <vector>

#include "models/uncertainty/mixture.h"
#include "models/uncertainty/spread.h"
#include "units/square.h"

namespace trnplan::planner {

namespace {

/// The training loop of a plan: a search over several states it in the strategy.
std::string_view loop_of(const RatedPlan& p) {
  return p.plan.strategy.framework.empty() ? std::string_view(p.job.software.framework)
                                           : p.plan.strategy.framework;
}

bool share_loop(const RatedPlan& a, const RatedPlan& b) {
  return a.profile.name == b.profile.name && loop_of(a) == loop_of(b);
}

/// log(scale * b / a) of two steps, in one network or each in its own. `apart(sd of a, sd of b)`: the sd of the ratio.
template <class Apart>
models::LogRatio ratio_across(const models::StepReport& a, const models::StepReport& b, double scale,
                              bool one_network, const Apart& apart) {
  const models::Mixture of_a = models::mixture_of(a), of_b = models::mixture_of(b);
  models::LogRatio ratio{std::log(scale * b.step / a.step), apart(of_a.front().sd, of_b.front().sd)};
  const auto add = [&](double weight, const models::MixturePart& x, const models::MixturePart& y) {
    ratio.states.push_back({weight, std::log(scale) + y.mean - x.mean, apart(x.sd, y.sd)});
  };
  if (one_network && a.slow && b.slow) {
    for (std::size_t i = 0; i < of_a.size(); ++i) add(of_a[i].weight, of_a[i], of_b[i]);
    return ratio;
  }
  for (const models::MixturePart& x : of_a)
    for (const models::MixturePart& y : of_b) add(x.weight * y.weight, x, y);
  return ratio;
}

/// Sd of the log of the ratio of two steps of one stack on two machines with one set of parameters: what these
/// leave open of it, the two layouts' own errors and how little each is tested, and what is unknown of sites that were
/// learnt elsewhere.
double related_log_sd(const RatedPlan& a, const RatedPlan& b) {
  const models::Profile& profile = a.profile;
  const auto parts = [&](const RatedPlan& p) {
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

}  // namespace

bool share_stack(const RatedPlan& a, const RatedPlan& b) {
  return share_loop(a, b) && a.plan.instance == b.plan.instance;
}

double less_tested(double log_sd, double of_other) {
  return square(log_sd) - square(of_other);
}

void count_less_tested(models::LogRatio& ratio, double of_first, double of_second) {
  const double more = less_tested(of_first, of_second);
  ratio.widen(std::abs(more));
  const models::Dominance first = models::Dominance::first_has_less,
                          second = models::Dominance::second_has_less;
  if ((more > 0 && ratio.dominance == first) || (more < 0 && ratio.dominance == second))
    ratio.dominance = models::Dominance::none;
}

models::LogRatio plan_ratio(const RatedPlan& a, const RatedPlan& b, double scale) {
  const models::StepReport &of_a = a.plan.report, &of_b = b.plan.report;
  if (share_stack(a, b)) {
    models::LogRatio ratio = models::log_ratio(of_a, of_b, a.profile, scale);
    count_less_tested(ratio, a.plan.untested_log_sd, b.plan.untested_log_sd);
    return ratio;
  }
  const bool one_network = a.plan.instance == b.plan.instance;
  if (share_loop(a, b) && !a.profile.network && !b.profile.network) {
    const double sd = related_log_sd(a, b);
    return ratio_across(of_a, of_b, scale, one_network, [sd](double, double) { return sd; });
  }
  return ratio_across(of_a, of_b, scale, one_network, [](double x, double y) { return std::hypot(x, y); });
}

}  // namespace trnplan::planner
