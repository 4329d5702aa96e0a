#include "models/compare.h"

#include <cmath>
#include <vector>

#include "models/spread.h"

namespace trnplan::models {

double probability_faster(const StepReport& a, const StepReport& b, const Profile& profile) {
  std::vector<double> difference = log_gradient(a);
  const std::vector<double> other = log_gradient(b);
  for (std::size_t i = 0; i < difference.size(); ++i) difference[i] -= other[i];
  const double own = profile[Parameter::configuration_spread];
  const double ratio = std::log(b.step / a.step);
  const double spread = std::sqrt(log_variance(profile, difference) + 2 * own * own);
  if (!(spread > 0)) return ratio > 0 ? 1 : ratio < 0 ? 0 : 0.5;
  return 0.5 * std::erfc(-ratio / spread / std::sqrt(2.0));
}

}  // namespace trnplan::models
