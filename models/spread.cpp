#include "models/spread.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trnplan::models {

namespace {

constexpr std::size_t kCount = static_cast<std::size_t>(Parameter::count);

double square(double x) {
  return x * x;
}

}  // namespace

double log_variance(const Profile& profile, const std::vector<double>& g) {
  double variance = 0;
  if (profile.calibration == nullptr) {
    for (std::size_t i = 0; i < kCount; ++i) variance += square(g[i] * profile.values[i].log_sd);
    return variance;
  }
  const auto& covariance = profile.calibration->covariance;
  for (std::size_t i = 0; i < g.size(); ++i) {
    for (std::size_t j = 0; j < g.size() && g[i] != 0; ++j) variance += g[i] * covariance[i][j] * g[j];
  }
  return std::max(0.0, variance);
}

std::vector<double> log_gradient(const StepReport& report) {
  std::vector<double> g(kCount, 0);
  for (std::size_t i = 0; i < kCount; ++i) {
    g[i] = time_sign(static_cast<Parameter>(i)) * (report.by_parameter[i] / report.step);
  }
  return g;
}

double log_spread(const Profile& profile, const Software& software, std::vector<double> g) {
  double variance = square(profile[Parameter::configuration_spread]);
  bool framework = false, release = false;
  if (profile.calibration != nullptr) {
    for (const StackFactor& s : profile.calibration->stacks) {
      const bool mine = s.framework == software.framework && !software.framework.empty() &&
                        (s.release.empty() || s.release == software.release);
      g.push_back(mine ? 1 : 0);
      if (mine) (s.release.empty() ? framework : release) = true;
    }
    variance += square(profile[Parameter::repeat_spread]);
    if (!framework) variance += square(profile[Parameter::stack_spread]);
    if (!release) variance += square(profile[Parameter::release_spread]);
  } else if (software.framework.empty() || software.release.empty()) {
    variance += square(profile[Parameter::stack_spread]);
  }
  return std::sqrt(variance + log_variance(profile, g));
}

}  // namespace trnplan::models
