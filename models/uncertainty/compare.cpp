#include "models/uncertainty/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include "models/uncertainty/spread.h"
#include "units/normal.h"
#include "units/square.h"

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

/// Correlation of the own errors of two layouts: that by which the variance of their difference, 2 own^2 (1 -
/// correlation), is that of operators; at least 0.
double likeness(const StepReport& a, const StepReport& b, const Profile& profile) {
  const double own = (a.learnt ? b : a).own_log_sd;
  if (!(own > 0) || !names_operators(a, b)) return 0;
  return std::max(0.0, 1 - square(profile[common::operator_spread] / own) * breakdown_distance(a, b) / 2);
}

/// Logarithm of the factor of a layout that was learnt.
double learnt_log(const StepReport& r, const Profile& profile) {
  return std::log(profile.calibration->stacks[*r.learnt - profile.schema->places()].median);
}

/// The difference of the gradients, b's less a's, with the factors of layouts that were learnt. Only the error that a
/// layout does not have in common with the other counts.
std::vector<double> difference_of(const StepReport& a, const StepReport& b, const Profile& profile) {
  std::vector<double> difference = log_gradient(b);
  const std::vector<double> first = log_gradient(a);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= first[i];
  const double part = a.learnt && b.learnt ? 1 : 1 - likeness(a, b, profile);
  const auto add = [&](const StepReport& r, double weight) {
    if (!r.learnt) return;
    difference.resize(std::max(difference.size(), *r.learnt + 1), 0);
    difference[*r.learnt] += weight;
  };
  add(a, -part);
  add(b, part);
  return difference;
}

}  // namespace

Dominance dominance(const StepReport& a, const StepReport& b, double scale) {
  if (!names_operators(a, b) || a.learnt || b.learnt) return Dominance::none;
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
  if (a.learnt && b.learnt) return 0;
  if (a.learnt || b.learnt) {
    const double own = square((a.learnt ? b : a).own_log_sd), alike = likeness(a, b, profile);
    return own * (1 - square(alike)) + square(alike * learnt_log((a.learnt ? a : b), profile));
  }
  if (!names_operators(a, b)) return 2 * square(profile[common::configuration_spread]);
  return square(profile[common::operator_spread]) * breakdown_distance(a, b);
}

double LogRatio::positive() const {
  if (dominance != Dominance::none) return dominance == Dominance::first_has_less ? 1 : 0;
  const auto of_state = [](double m, double s) {
    return s > 0 ? normal_probability(m / s) : m > 0 ? 1 : m < 0 ? 0 : 0.5;
  };
  if (states.empty()) return of_state(mean, sd);
  double sum = 0;
  for (const MixturePart& part : states) sum += part.weight * of_state(part.mean, part.sd);
  return std::min(1.0, sum);
}

double LogRatio::quantile(double p) const {
  return states.empty() ? mean + normal_quantile(p) * sd : mixture_quantile(states, p);
}

void LogRatio::widen(double variance) {
  const auto wider = [variance](double& s) { s = std::sqrt(std::max(0.0, s * s + variance)); };
  wider(sd);
  for (MixturePart& part : states) {
    wider(part.sd);
    wider(part.sd_above);
  }
}

LogRatio log_ratio(const StepReport& a, const StepReport& b, const Profile& profile, double scale) {
  double variance = log_variance(profile, difference_of(a, b, profile)) + own_variance(a, b, profile);
  if (a.learnt.has_value() != b.learnt.has_value())
    variance = std::max(variance, square(a.log_sd - b.log_sd));
  LogRatio ratio{std::log(scale * b.step.value / a.step.value), std::sqrt(variance), dominance(a, b, scale)};
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
