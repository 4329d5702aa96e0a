#include "models/parameters/profile.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "models/job/job.h"
#include "units/normal.h"

namespace trnplan::models {

namespace {

/// Slack on the diagonal of correlations before they must be positive definite, because files round.
constexpr double kCovarianceSlack = 1e-3;

}  // namespace

std::optional<Value> value_when_absent(Parameter p) {
  const std::optional<double> median = p.info().when_absent;
  if (!median) return std::nullopt;
  return Value{*median, 0, "not stated in this profile"};
}

bool is_covariance(const std::vector<std::vector<double>>& matrix) {
  const std::size_t n = matrix.size();
  // Correlations of the uncertain parameters; exact ones have none.
  Eigen::MatrixXd correlations =
      Eigen::MatrixXd::Identity(static_cast<Eigen::Index>(n), static_cast<Eigen::Index>(n));
  for (std::size_t i = 0; i < n; ++i) {
    if (matrix[i].size() != n || !(matrix[i][i] >= 0)) return false;
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      if (!std::isfinite(matrix[i][j]) || matrix[i][j] != matrix[j][i]) return false;
      const double scale = std::sqrt(matrix[i][i] * matrix[j][j]);
      if (scale == 0 && matrix[i][j] != 0) return false;
      if (i == j || scale == 0) continue;
      correlations(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = matrix[i][j] / scale;
    }
    correlations(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(i)) = 1 + kCovarianceSlack;
  }
  return n == 0 || correlations.llt().info() == Eigen::Success;  // reads the lower triangle
}

double slowest_of(int count) {
  const double share = (count - 0.375) / (count + 0.25);
  return count > 1 ? normal_quantile(share) : 0;
}

namespace {

bool applies(const Factors& f, const Job& job) {
  const std::string_view loop = stack_of(job.software).loop;
  return (f.framework.empty() || f.framework == job.software.framework ||
          (!loop.empty() && f.framework == loop)) &&
         (f.cluster.empty() || f.cluster == job.cluster.instance.name);
}

}  // namespace

Profile with_factors(Profile profile, const Job& job) {
  const auto factors = std::move(profile.factors);
  profile.factors.reset();
  if (!factors) return profile;
  for (const Factors& f : *factors) {
    if (!applies(f, job)) continue;
    for (const auto& [parameter, value] : f.values) profile.value(parameter) = value;
  }
  return profile;
}

Profile in_network_state(Profile profile, const Job& job, int tensor_parallel, BytesPerSecond all_reduce) {
  const auto factors = profile.factors;
  profile = with_factors(std::move(profile), job);
  const int nodes = job.cluster.nodes;
  if (!factors || nodes < 2 || all_reduce.value <= 0) return profile;
  const Parameter share = profile.schema->find("network_share"),
                  launches = profile.schema->find("host_layer");
  for (const Factors& f : *factors) {
    const NetworkState& n = f.network;
    if (!applies(f, job) || n.usual.value <= 0) continue;
    if (share) profile.value(share).median *= std::pow(all_reduce / n.usual, n.power);
    if (!launches || tensor_parallel < 2 || n.congested_below.empty()) continue;
    const auto doublings = static_cast<std::size_t>(std::ceil(std::log2(nodes)));
    const std::size_t last = n.congested_below.size() - 1;
    if (all_reduce >= n.congested_below[std::min(last, doublings - 1)]) continue;
    const bool many = tensor_parallel > job.cluster.instance.cores();
    profile.value(launches).median += n.layer_per_rank.value * tensor_parallel * (many ? n.many_ranks : 1);
  }
  return profile;
}

Profile on_job(Profile profile, const Job& job) {
  if (profile.factors) profile = with_factors(std::move(profile), job);
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
