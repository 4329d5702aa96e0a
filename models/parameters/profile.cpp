#include "models/parameters/profile.h"

#include <cmath>

#include "models/job/job.h"

namespace trnplan::models {

namespace {

/// Added to the diagonal of correlations before they must be positive definite: files round.
constexpr double kCovarianceSlack = 1e-3;

/// erfc^-1 on (0, 2) by bisection: a handful of calls a job.
double inverse_erfc(double y) {
  double low = -6, high = 6;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle) > y ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

std::optional<Value> value_when_absent(Parameter p) {
  const std::optional<double> median = p.info().when_absent;
  if (!median) return std::nullopt;
  return Value{*median, 0, "not stated in this profile"};
}

bool is_covariance(const std::vector<std::vector<double>>& matrix) {
  const std::size_t n = matrix.size();
  std::vector<std::vector<double>> root(n, std::vector<double>(n, 0));  // Cholesky of the correlations
  const auto correlation = [&](std::size_t i, std::size_t j) {
    const double scale = std::sqrt(matrix[i][i] * matrix[j][j]);
    return scale > 0 ? matrix[i][j] / scale : 0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (matrix[i].size() != n || !(matrix[i][i] >= 0)) return false;
    for (std::size_t j = 0; j <= i; ++j) {
      const bool alone = matrix[i][i] == 0 || matrix[j][j] == 0;
      if (!std::isfinite(matrix[i][j]) || matrix[i][j] != matrix[j][i]) return false;
      if (alone && matrix[i][j] != 0) return false;
      double rest = i == j ? 1 + kCovarianceSlack : correlation(i, j);
      for (std::size_t k = 0; k < j; ++k) rest -= root[i][k] * root[j][k];
      if (i == j && !(rest > 0)) return false;
      root[i][j] = i == j ? std::sqrt(rest) : rest / root[j][j];
    }
  }
  return true;
}

double slowest_of(int count) {
  const double share = (count - 0.375) / (count + 0.25);
  return count > 1 ? -std::sqrt(2.0) * inverse_erfc(2 * share) : 0;
}

Profile on_job(Profile profile, const Job& job) {
  double factor = std::exp(profile[common::node_spread] * slowest_of(job.cluster.nodes));
  if (profile.calibration != nullptr && !job.software.framework.empty()) {
    for (const StackFactor& s : profile.calibration->stacks) {
      if (s.framework == job.software.framework && (s.release.empty() || s.release == job.software.release)) {
        factor *= s.median;
      }
    }
  }
  for (const Parameter p : profile.schema->parameters()) {
    if (p.info().of_work) continue;
    if (time_sign(p) > 0) profile.value(p).median *= factor;
    if (time_sign(p) < 0) profile.value(p).median /= factor;
  }
  return profile;
}

}  // namespace trnplan::models
