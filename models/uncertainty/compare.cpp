#include "models/uncertainty/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "models/uncertainty/spread.h"
#include "units/normal.h"

namespace trnplan::models {

namespace {

/// Share of the step below which a difference of a part is rounding.
constexpr double kSame = 1e-9;

/// Seconds of each operator in the first and in the second step.
using Parts = std::map<std::string_view, std::pair<double, double>>;

Parts parts_of(const StepReport& a, const StepReport& b) {
  Parts parts;
  for (const auto& [name, seconds] : a.by_operator) parts[name].first += seconds.value;
  for (const auto& [name, seconds] : b.by_operator) parts[name].second += seconds.value;
  return parts;
}

bool names_operators(const StepReport& a, const StepReport& b) {
  return !a.by_operator.empty() && !b.by_operator.empty();
}

}  // namespace

Dominance dominance(const StepReport& a, const StepReport& b, double scale) {
  if (!names_operators(a, b)) return Dominance::none;
  const double same = kSame * std::max(a.step.value, scale * b.step.value);
  bool first_has_more = false, second_has_more = false;
  const auto look = [&](double of_a, double of_b) {
    first_has_more = first_has_more || of_a > scale * of_b + same;
    second_has_more = second_has_more || scale * of_b > of_a + same;
  };
  for (const auto& [name, seconds] : parts_of(a, b)) look(seconds.first, seconds.second);
  for (std::size_t i = 0; i < a.by_parameter.size(); ++i)
    look(a.by_parameter[i].value, b.by_parameter[i].value);
  if (first_has_more == second_has_more) return Dominance::none;
  return first_has_more ? Dominance::second_has_less : Dominance::first_has_less;
}

double breakdown_distance(const StepReport& a, const StepReport& b) {
  double sum = 0;
  for (const auto& [name, seconds] : parts_of(a, b)) {
    const double difference = seconds.first / a.step.value - seconds.second / b.step.value;
    sum += difference * difference;
  }
  return sum;
}

Seconds unshared_seconds(const StepReport& a, const StepReport& b) {
  double of_a = 0, of_b = 0;
  for (const auto& [name, seconds] : parts_of(a, b)) {
    const double more = seconds.first - seconds.second;
    (more > 0 ? of_a : of_b) += std::abs(more);
  }
  return Seconds(std::max(of_a, of_b));
}

double own_variance(const StepReport& a, const StepReport& b, const Profile& profile) {
  if (!names_operators(a, b)) {
    const double own = profile[common::configuration_spread];
    return 2 * own * own;
  }
  const double spread = profile[common::operator_spread];
  return spread * spread * breakdown_distance(a, b);
}

double LogRatio::positive() const {
  if (dominance != Dominance::none) return dominance == Dominance::first_has_less ? 1 : 0;
  if (!states.empty()) return 1 - mixture_probability(states, 0);
  if (!(sd > 0)) return mean > 0 ? 1 : mean < 0 ? 0 : 0.5;
  return normal_probability(mean / sd);
}

double LogRatio::quantile(double p) const {
  return states.empty() ? mean + normal_quantile(p) * sd : mixture_quantile(states, p);
}

void LogRatio::widen(double variance) {
  const auto wider = [variance](double& s) { s = std::sqrt(std::max(0.0, s * s + variance)); };
  wider(sd);
  for (MixturePart& part : states) wider(part.sd);
}

LogRatio log_ratio(const StepReport& a, const StepReport& b, const Profile& profile, double scale) {
  std::vector<double> difference = log_gradient(a);
  const std::vector<double> other = log_gradient(b);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= other[i];
  LogRatio ratio{std::log(scale * b.step.value / a.step.value),
                 std::sqrt(log_variance(profile, difference) + own_variance(a, b, profile)),
                 dominance(a, b, scale)};
  if (a.slow && b.slow) {
    const double slow = a.slow->probability;
    ratio.states = {{1 - slow, ratio.mean, ratio.sd},
                    {slow, std::log(scale * b.slow->step.value / a.slow->step.value), ratio.sd}};
  }
  return ratio;
}

double probability_faster(const StepReport& a, const StepReport& b, const Profile& profile) {
  return log_ratio(a, b, profile).positive();
}

}  // namespace trnplan::models
