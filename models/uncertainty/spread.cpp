#include "models/uncertainty/spread.h"

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

namespace {

/// Fitted to steps, so to the stacks that ran them.
bool knows_stacks(const Profile& profile) {
  return profile.calibration != nullptr && !profile.calibration->stacks.empty();
}

}  // namespace

SpreadParts spread_parts(const Profile& profile, const Software& software, std::vector<double> g) {
  SpreadParts parts{std::move(g), square(profile[Parameter::configuration_spread]), 0,
                    square(profile[Parameter::repeat_spread])};
  bool framework = false, release = false;
  if (knows_stacks(profile)) {
    for (const StackFactor& s : profile.calibration->stacks) {
      const bool mine = s.framework == software.framework && !software.framework.empty() &&
                        (s.release.empty() || s.release == software.release);
      parts.gradient.push_back(mine ? 1 : 0);
      if (mine) (s.release.empty() ? framework : release) = true;
    }
    if (!framework) parts.shared += square(profile[Parameter::stack_spread]);
    if (!release) parts.shared += square(profile[Parameter::release_spread]);
  } else if (software.framework.empty() || software.release.empty()) {
    parts.shared = square(profile[Parameter::stack_spread]);
  }
  return parts;
}

std::vector<std::vector<double>> covariance_of(const Profile& profile) {
  if (profile.calibration != nullptr) return profile.calibration->covariance;
  std::vector<std::vector<double>> all(kCount, std::vector<double>(kCount, 0));
  for (std::size_t i = 0; i < kCount; ++i) all[i][i] = square(profile.values[i].log_sd);
  return all;
}

std::vector<std::pair<std::string, double>> traits_of(const Job& job, const Strategy& s) {
  return {{"nodes", job.cluster.nodes},
          {"tensor_parallel", s.tensor_parallel},
          {"pipeline_parallel", s.pipeline_parallel},
          {"sequence", job.training.sequence},
          {"parameters", static_cast<double>(parameters(job.architecture))}};
}

std::vector<Extrapolation> extrapolations(const Profile& profile, const Job& job, const Strategy& strategy) {
  std::vector<Extrapolation> all;
  if (profile.calibration == nullptr) return all;
  for (const auto& [name, value] : traits_of(job, strategy)) {
    for (const FittedRange& range : profile.calibration->ranges) {
      if (range.of == name && (value < range.low || value > range.high)) all.push_back({range, value});
    }
  }
  return all;
}

double log_spread(const Profile& profile, const Software& software, std::vector<double> g) {
  const SpreadParts parts = spread_parts(profile, software, std::move(g));
  const double repeat = knows_stacks(profile) ? parts.repeat : 0;
  return std::sqrt(parts.own + repeat + parts.shared + log_variance(profile, parts.gradient));
}

}  // namespace trnplan::models
