#include "calibrate/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "calibrate/fit_problem.h"

namespace trnplan::calibrate {

using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

/// Gains of the cost below this share of it are rounding.
constexpr double kRounding = 1e-15;

/// Laplace, in z, at the optimum.
void take_covariance(const FitProblem& problem, MatrixXd hessian, Optimum& at) {
  const Eigen::Index n = problem.size();
  const FitOptions& options = problem.options();
  const VectorXd r = problem.scaled(at.logs);
  const MatrixXd identity = MatrixXd::Identity(n, n);
  if (options.exact_curvature) hessian = problem.curvature_at(at.z, r);
  at.covariance = hessian.llt().solve(identity);
  if (!options.scale_noise || r.size() == 0) return;
  const double decided = static_cast<double>(n) - at.covariance.diagonal().dot(problem.prior_weights(at.z));
  double squares = 0;
  for (Eigen::Index i = 0; i < r.size(); ++i) squares += weight(options.loss, r[i] * r[i]) * r[i] * r[i];
  at.noise_scale = std::max(1.0, squares / std::max(1.0, static_cast<double>(r.size()) - decided));
  const MatrixXd of_prior = problem.prior_weights(at.z).asDiagonal();
  at.covariance = ((hessian - of_prior) / at.noise_scale + of_prior).llt().solve(identity);
}

FitResult solve(const FitProblem& problem, std::size_t parameters) {
  const Eigen::Index n = problem.size();
  Optimum best = optimum_from(problem, VectorXd::Zero(n));
  if (n > 0 && problem.options().profile_widths) take_profile_widths(problem, best);
  FitResult result;
  result.median = problem.values(best.z);
  result.residuals.assign(best.logs.begin(), best.logs.end());
  result.cost = best.cost;
  result.noise_scale = best.noise_scale;
  result.iterations = best.iterations;
  result.converged = best.converged;
  result.log_sd.assign(parameters, 0);
  result.prior_share.assign(parameters, 1);
  result.covariance.assign(parameters, std::vector<double>(parameters, 0));
  for (Eigen::Index a = 0; a < n; ++a) {
    const std::size_t i = problem.free()[static_cast<std::size_t>(a)];
    result.prior_share[i] = std::sqrt(best.covariance(a, a));
    result.log_sd[i] = problem.log_sd(a) * result.prior_share[i];
    for (Eigen::Index b = 0; b < n; ++b) {
      const double mean = 0.5 * (best.covariance(a, b) + best.covariance(b, a));  // symmetric to the bit
      result.covariance[i][problem.free()[static_cast<std::size_t>(b)]] =
          problem.log_sd(a) * problem.log_sd(b) * mean;
    }
  }
  return result;
}

}  // namespace

Optimum optimum_from(const FitProblem& problem, const VectorXd& start) {
  const Eigen::Index n = problem.size();
  const FitOptions& options = problem.options();
  Optimum at;
  at.z = start;
  at.logs = *problem.logs(at.z, false);
  VectorXd r = problem.scaled(at.logs);
  at.cost = problem.cost(at.z, r);
  auto [hessian, gradient] = problem.normal(at.z, r);
  double damping = 1e-3;
  at.converged = n == 0;
  while (!at.converged && at.iterations < options.max_iterations) {
    ++at.iterations;
    // Towards the optimum of the damped linear model, shorter until the cost falls.
    bool moved = false;
    while (!moved && !at.converged) {
      MatrixXd damped = hessian;
      damped.diagonal() *= 1 + damping;
      VectorXd step = damped.llt().solve(-gradient);
      double longest = 0;
      for (Eigen::Index j = 0; j < n; ++j) longest = std::max(longest, std::abs(step[j]) * problem.log_sd(j));
      if (!std::isfinite(longest)) break;
      if (longest > kLongestStep) step *= kLongestStep / longest;
      // Where even the model promises less than rounding can show, or nothing moves, this is the optimum.
      const double promised = -(gradient.dot(step) + 0.5 * step.dot(hessian * step));
      const bool still = step.lpNorm<Eigen::Infinity>() <= options.tolerance;
      const bool hopeless = promised <= options.least_gain * at.cost;
      if (step.isZero(0) || (damping > 1 && (still || hopeless)) ||
          (options.least_gain > kRounding && hopeless)) {
        at.converged = true;
        break;
      }
      const VectorXd trial = at.z + step;
      const auto trial_logs = problem.logs(trial, true);
      const VectorXd trial_r = trial_logs ? problem.scaled(*trial_logs) : r;
      const double trial_cost =
          trial_logs ? problem.cost(trial, trial_r) : std::numeric_limits<double>::infinity();
      if (trial_cost <= at.cost) {
        at.z = trial;
        at.logs = *trial_logs;
        r = trial_r;
        at.cost = trial_cost;
        moved = true;
        at.converged = still && damping <= 1;  // not small merely because of the damping
        damping = std::max(damping / 10, 1e-12);
      } else {
        damping *= 10;
        if (!(damping < 1e30)) break;
      }
    }
    if (!moved) break;
    std::tie(hessian, gradient) = problem.normal(at.z, r);
  }
  if (n > 0) take_covariance(problem, std::move(hessian), at);
  return at;
}

FitResult fit(const std::vector<FitParameter>& parameters, const std::vector<Observation>& observations,
              const Predict& predict, const FitOptions& options) {
  const Linearise none;
  return solve(FitProblem(parameters, observations, predict, none, options), parameters.size());
}

FitResult fit_linearised(const std::vector<FitParameter>& parameters,
                         const std::vector<Observation>& observations, const Linearise& linearise,
                         const FitOptions& options) {
  const Predict none;
  return solve(FitProblem(parameters, observations, none, linearise, options), parameters.size());
}

std::string_view verdict(double prior_share) {
  if (prior_share < 0.5) return "identified";
  if (prior_share < 0.9) return "weakly";
  return "at prior";
}

}  // namespace trnplan::calibrate
