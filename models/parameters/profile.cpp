#include "models/parameters/profile.h"

#include <cmath>

#include "models/job/job.h"

namespace trnplan::models {

namespace {

/// Added to the diagonal of correlations before they must be positive definite: files round.
constexpr double kCovarianceSlack = 1e-3;

struct Name {
  std::string_view key;
  std::string_view unit;
};

constexpr std::array<Name, static_cast<std::size_t>(Parameter::count)> kNames = {{
    {"matmul_efficiency", "1"}, {"matmul_hbm_traffic", "1"},  {"fp32_slowdown", "1"},
    {"hbm_fraction", "1"},      {"flash_efficiency", "1"},    {"score_traffic", "1"},
    {"vector_efficiency", "1"}, {"link_fraction", "1"},       {"dma_fraction", "1"},
    {"in_graph_alpha", "s"},    {"hop_latency", "s"},         {"host_launch", "s"},
    {"barrier", "s"},           {"efa_fraction", "1"},        {"efa_latency", "s"},
    {"overlap_slowdown", "1"},  {"layer_overhead", "s"},      {"graph_launch", "s"},
    {"task_launch", "s"},       {"bucket_overhead", "s"},     {"node_spread", "1"},
    {"step_overhead", "s"},     {"runtime_reserve", "bytes"}, {"configuration_spread", "1"},
    {"stack_spread", "1"},      {"release_spread", "1"},      {"repeat_spread", "1"},
}};

}  // namespace

std::string_view to_string(Parameter p) {
  return kNames[static_cast<std::size_t>(p)].key;
}
std::string_view unit_of(Parameter p) {
  return kNames[static_cast<std::size_t>(p)].unit;
}

std::optional<Value> value_when_absent(Parameter p) {
  // Spreads that only a fit uses: a fit of an old profile takes them to be small against stack_spread.
  if (p == Parameter::release_spread) return Value{0.06, 0, "not stated in this profile"};
  if (p == Parameter::repeat_spread) return Value{0.05, 0, "not stated in this profile"};
  // All nodes of one pace, as before: the smallest that a profile may state.
  if (p == Parameter::node_spread) return Value{1e-30, 0, "not stated in this profile"};
  return std::nullopt;
}

int time_sign(Parameter p) {
  switch (p) {
    case Parameter::matmul_efficiency:
    case Parameter::hbm_fraction:
    case Parameter::flash_efficiency:
    case Parameter::vector_efficiency:
    case Parameter::link_fraction:
    case Parameter::dma_fraction:
    case Parameter::efa_fraction:
      return -1;
    case Parameter::runtime_reserve:
    case Parameter::configuration_spread:
    case Parameter::stack_spread:
    case Parameter::release_spread:
    case Parameter::repeat_spread:
    case Parameter::count:
      return 0;
    default:
      return 1;
  }
}

namespace {

/// erfc^-1 on (0, 2) by bisection: a handful of calls a job.
double inverse_erfc(double y) {
  double low = -6, high = 6;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle) > y ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Multiplies what is multiplied already (bytes, cycles) and so must stay when every time is scaled.
bool scales_work(Parameter p) {
  return p == Parameter::matmul_hbm_traffic || p == Parameter::fp32_slowdown ||
         p == Parameter::score_traffic || p == Parameter::overlap_slowdown || p == Parameter::node_spread;
}

}  // namespace

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
  double factor = std::exp(profile[Parameter::node_spread] * slowest_of(job.cluster.nodes));
  if (profile.calibration != nullptr && !job.software.framework.empty()) {
    for (const StackFactor& s : profile.calibration->stacks) {
      if (s.framework == job.software.framework && (s.release.empty() || s.release == job.software.release)) {
        factor *= s.median;
      }
    }
  }
  for (std::size_t i = 0; i < profile.values.size(); ++i) {
    const auto p = static_cast<Parameter>(i);
    if (scales_work(p)) continue;
    if (time_sign(p) > 0) profile.value(p).median *= factor;
    if (time_sign(p) < 0) profile.value(p).median /= factor;
  }
  return profile;
}

}  // namespace trnplan::models
