#include "models/parameters/profile.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "models/job/job.h"
#include "units/normal.h"
#include "units/square.h"

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

bool applies(const Factors& f, const Job& job) {
  const std::string_view loop = stack_of(job.software).loop;
  return (f.framework.empty() || f.framework == job.software.framework ||
          (!loop.empty() && f.framework == loop)) &&
         (f.cluster.empty() || f.cluster == job.cluster.instance.name);
}

namespace {

/// Makes these parameters independent of all others, with the variance of their values.
void separate(const std::vector<Parameter>& parameters, Profile& profile) {
  if (profile.calibration == nullptr || parameters.empty()) return;
  Calibration own = *profile.calibration;
  auto& covariance = own.covariance;
  for (const Parameter p : parameters) {
    for (std::vector<double>& row : covariance) row[p.place()] = 0;
    std::fill(covariance[p.place()].begin(), covariance[p.place()].end(), 0);
    covariance[p.place()][p.place()] = profile.value(p).log_sd * profile.value(p).log_sd;
  }
  profile.calibration = std::make_shared<const Calibration>(std::move(own));
}

}  // namespace

Profile with_factors(Profile profile, const Job& job) {
  const auto factors = std::move(profile.factors);
  profile.factors.reset();
  if (!factors) return profile;
  std::vector<Parameter> replaced;
  for (const Factors& f : *factors) {
    if (!applies(f, job)) continue;
    for (const auto& [parameter, value] : f.values) {
      profile.value(parameter) = value;
      replaced.push_back(parameter);
    }
  }
  separate(replaced, profile);
  return profile;
}

Profile with_value(Profile profile, Parameter p, const Value& value) {
  profile.value(p) = value;
  separate({p}, profile);
  return profile;
}

Seconds call_per_rank(const Profile& profile) {
  return profile.network ? profile.network->call_per_rank : Seconds(0);
}

namespace {

/// Name of a layout after that of its network.
std::string after_network(const Job& job, const Strategy& strategy) {
  return fmt::format(", {} x {}, sequence {}, batch {}: {}", job.cluster.nodes, job.cluster.instance.name,
                     job.training.sequence, job.training.global_batch, describe(canonical(strategy)));
}

bool is_layout(const StackFactor& f, const Job& job, const Strategy& strategy) {
  if (f.parameters > 0 && f.parameters != parameters(job.architecture)) return false;
  if (f.parameters > 0 && job.architecture.experts == 0)
    return f.layout.ends_with(after_network(job, strategy));
  return f.layout == layout_name(job, strategy);
}

}  // namespace

std::string layout_name(const Job& job, const Strategy& strategy) {
  return job.architecture.name + after_network(job, strategy);
}

std::string layout_key(const Job& job, const Strategy& strategy) {
  return fmt::format("{}{}", parameters(job.architecture), after_network(job, strategy));
}

std::string stack_name(std::string_view framework, std::string_view release) {
  return fmt::format("{}{}{}", framework, release.empty() ? "" : " ", release);
}

bool is_of_stack(const StackFactor& f, const Job& job) {
  if (job.software.framework.empty() || f.framework != job.software.framework) return false;
  return f.release.empty() || f.release == job.software.release;
}

bool applies(const StackFactor& f, const Job& job, const Strategy* strategy) {
  if (!is_of_stack(f, job)) return false;
  if (!f.instance.empty() && f.instance != job.cluster.instance.name) return false;
  return f.layout.empty() || (strategy != nullptr && is_layout(f, job, *strategy));
}

bool at_known_site(const Profile& profile, const Job& job) {
  if (profile.calibration == nullptr) return false;
  const auto& all = profile.calibration->stacks;
  return std::any_of(all.begin(), all.end(),
                     [&](const StackFactor& f) { return f.is_site() && applies(f, job); });
}

std::string site_release(const Profile& profile, const Job& job) {
  if (profile.calibration == nullptr || job.software.framework.empty()) return "";
  std::set<std::string_view> here, anywhere;
  for (const StackFactor& f : profile.calibration->stacks) {
    if (!f.is_site() || f.framework != job.software.framework) continue;
    anywhere.insert(f.release);
    if (f.instance == job.cluster.instance.name) here.insert(f.release);
  }
  const auto& found = here.empty() ? anywhere : here;
  return found.size() == 1 ? std::string(*found.begin()) : "";
}

namespace {

/// Borrows from sites of one kind: their places are in `from`.
void borrow(const std::vector<StackFactor>& all, const std::vector<std::size_t>& from, FactorShares& out) {
  const auto n = static_cast<double>(from.size());
  double squares = 0;
  for (const std::size_t i : from) {
    out.weights[i] = 1 / (n + 1);
    squares += square(std::log(all[i].median));
  }
  if (n > 0) out.variance += squares / (square(n + 1) * (n + 2));
  out.borrowed.insert(out.borrowed.end(), from.begin(), from.end());
}

/// Takes the weight of sites of any release where one of the job's own has it.
void prefer_release(const std::vector<StackFactor>& all, FactorShares& shares) {
  const auto counts = [&](std::size_t i, bool released) {
    return all[i].is_site() && shares.weights[i] > 0 && all[i].release.empty() != released;
  };
  bool released = false;
  for (std::size_t i = 0; i < all.size(); ++i) released = released || counts(i, true);
  for (std::size_t i = 0; released && i < all.size(); ++i)
    if (counts(i, false)) shares.weights[i] = 0;
}

}  // namespace

FactorShares factor_shares(const Profile& profile, const Job& job, const Strategy* strategy) {
  FactorShares out;
  if (profile.calibration == nullptr) return out;
  const std::vector<StackFactor>& all = profile.calibration->stacks;
  for (const StackFactor& f : all) out.weights.push_back(applies(f, job, strategy) ? 1 : 0);
  if (at_known_site(profile, job)) {
    prefer_release(all, out);
    return out;
  }
  std::vector<std::size_t> on_machine, of_stack;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_site()) continue;
    if (all[i].instance == job.cluster.instance.name)
      on_machine.push_back(i);
    else if (is_of_stack(all[i], job))
      of_stack.push_back(i);
  }
  borrow(all, on_machine, out);
  borrow(all, of_stack, out);
  return out;
}

double pace_of(const Profile& profile, const Job& job, const Strategy* strategy) {
  double factor = std::exp(profile[common::node_spread] * slowest_of(job.cluster.nodes));
  const std::vector<double> weights = factor_shares(profile, job, strategy).weights;
  for (std::size_t i = 0; i < weights.size(); ++i)
    factor *= std::pow(profile.calibration->stacks[i].median, weights[i]);
  return factor;
}

bool knows_layouts(const Profile& profile, const Job& job) {
  if (profile.calibration == nullptr) return false;
  const auto& all = profile.calibration->stacks;
  return std::any_of(all.begin(), all.end(), [&](const StackFactor& f) {
    return !f.layout.empty() && is_of_stack(f, job) &&
           (f.instance.empty() || f.instance == job.cluster.instance.name);
  });
}

double layout_factor(const Profile& profile, const Job& job, const Strategy& strategy) {
  double factor = 1;
  if (profile.calibration == nullptr) return factor;
  for (const StackFactor& s : profile.calibration->stacks) {
    if (!s.layout.empty() && applies(s, job, &strategy)) factor *= s.median;
  }
  return factor;
}

namespace {

/// The profile with the value of its measured network on so many nodes; on one node there is no network.
Profile on_nodes(Profile profile, int nodes) {
  if (nodes < 2) {
    profile.network.reset();
    return profile;
  }
  const MeasuredNetwork& n = *profile.network;
  Value value = n.value;
  value.log_sd = std::hypot(value.log_sd, n.per_doubling * std::log2(static_cast<double>(nodes) / n.nodes));
  return with_value(std::move(profile), n.share, value);
}

}  // namespace

Profile on_job(Profile profile, const Job& job, const Strategy* strategy) {
  if (profile.factors) profile = with_factors(std::move(profile), job);
  if (profile.network) profile = on_nodes(std::move(profile), job.cluster.nodes);
  const double factor = pace_of(profile, job, strategy);
  if (profile.network) profile.network->call_per_rank = profile.network->call_per_rank * factor;
  for (const Parameter p : profile.schema->parameters()) {
    if (p.info().of_work) continue;
    if (time_sign(p) > 0) profile.value(p).median *= factor;
    if (time_sign(p) < 0) profile.value(p).median /= factor;
  }
  return profile;
}

}  // namespace trnplan::models
