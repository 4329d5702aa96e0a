#include "models/uncertainty/compare.h"

#include <cmath>
#include <vector>

#include "models/uncertainty/spread.h"
#include "units/normal.h"

namespace trnplan::models {

double LogRatio::positive() const {
  if (!(sd > 0)) return mean > 0 ? 1 : mean < 0 ? 0 : 0.5;
  return normal_probability(mean / sd);
}

LogRatio log_ratio(const StepReport& a, const StepReport& b, const Profile& profile) {
  std::vector<double> difference = log_gradient(a);
  const std::vector<double> other = log_gradient(b);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= other[i];
  const double own = profile[common::configuration_spread];
  return {std::log(b.step / a.step), std::sqrt(log_variance(profile, difference) + 2 * own * own)};
}

double probability_faster(const StepReport& a, const StepReport& b, const Profile& profile) {
  return log_ratio(a, b, profile).positive();
}

}  // namespace trnplan::models
