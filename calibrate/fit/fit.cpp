#include "calibrate/fit/fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "calibrate/fit/fit_problem.h"
#include "calibrate/fit/profile_width.h"

namespace trnplan::calibrate {

namespace {

/// A trial step changes no parameter by more than a factor e^2: wide priors would else probe absurd values.
constexpr double kLongestStep = 2;
/// Least move of a median, in prior standard deviations, that counts as moved.
constexpr double kMoved = 0.1;
/// Gains of the cost below this share of it are rounding.
constexpr double kRounding = 1e-15;
/// Share of the prior's standard deviation above which a parameter keeps its prior, which is Gaussian.
constexpr double kAtPrior = 0.9;
/// Step to look for alternatives: so many prior standard deviations faster.
constexpr double kFaster = 2;
/// End of profiles, in prior standard deviations.
constexpr double kEndPrior = 5;
constexpr int kSettling = 3;  ///< Gauss-Newton steps of the other parameters at each point of a profile
/// Distance below which two optima are one, in squared posterior standard deviations.
constexpr double kSameOptimum = 1;

/// An optimum, with the Laplace covariance in z.
struct Optimum {
  VectorXd z, logs;
  MatrixXd covariance;
  double cost = 0;
  double noise_scale = 1;
  int iterations = 0;
  bool converged = false;
};

/// Sets the Laplace covariance in z at the optimum.
void take_covariance(const FitProblem& problem, MatrixXd hessian, Optimum& at) {
  const Index n = problem.size();
  const FitOptions& options = problem.options();
  const VectorXd r = problem.scaled(at.logs);
  const MatrixXd identity = MatrixXd::Identity(n, n);
  if (options.exact_curvature) hessian = problem.curvature_at(at.z, r);
  at.covariance = hessian.llt().solve(identity);
  if (!options.scale_noise || r.size() == 0) return;
  const double decided = static_cast<double>(n) - at.covariance.diagonal().dot(problem.prior_weights(at.z));
  double squares = 0;
  for (Index i = 0; i < r.size(); ++i) squares += weight(options.loss, r[i] * r[i]) * r[i] * r[i];
  at.noise_scale = std::max(1.0, squares / std::max(1.0, static_cast<double>(r.size()) - decided));
  const MatrixXd of_prior = problem.prior_weights(at.z).asDiagonal();
  at.covariance = ((hessian - of_prior) / at.noise_scale + of_prior).llt().solve(identity);
}

/// Shortens the step to kLongestStep.
void shorten(const FitProblem& problem, VectorXd& step) {
  double longest = 0;
  for (Index j = 0; j < step.size(); ++j) longest = std::max(longest, std::abs(step[j]) * problem.log_sd(j));
  if (longest > kLongestStep) step *= kLongestStep / longest;
}

/// Levenberg-Marquardt from `start`.
Optimum optimum_from(const FitProblem& problem, const VectorXd& start) {
  const Index n = problem.size();
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
    // Step towards the optimum of the damped linear model, shortened until the cost falls.
    bool moved = false;
    while (!moved && !at.converged) {
      MatrixXd damped = hessian;
      damped.diagonal() *= 1 + damping;
      VectorXd step = damped.llt().solve(-gradient);
      if (!step.allFinite()) break;
      shorten(problem, step);
      // This is the optimum if the model predicts less than rounding can show, or nothing moves.
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
        const double gain = at.cost - trial_cost;
        at.z = trial;
        at.logs = *trial_logs;
        r = trial_r;
        at.cost = trial_cost;
        moved = true;
        at.converged = (still && damping <= 1) ||  // not small merely because of the damping
                       (options.least_gain > kRounding && gain <= options.least_gain * at.cost);
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

/// The lowest cost after a few steps of all parameters but j from `at`, which is moved there.
double settle(const FitProblem& problem, Index j, VectorXd& at) {
  double lowest = std::numeric_limits<double>::infinity();
  VectorXd trial = at;
  for (int k = 0; k <= kSettling; ++k) {
    const auto logs = problem.logs(trial, true);
    if (!logs) return lowest;
    const VectorXd r = problem.scaled(*logs);
    const double cost = problem.cost(trial, r);
    if (cost >= lowest) return lowest;
    lowest = cost;
    at = trial;
    if (k == kSettling) return lowest;
    auto [hessian, gradient] = problem.normal(trial, r);
    hessian.row(j).setZero();
    hessian.col(j).setZero();
    hessian(j, j) = 1;
    gradient[j] = 0;
    VectorXd step = hessian.llt().solve(-gradient);
    shorten(problem, step);
    trial += step;
  }
  return lowest;
}

/// Ratio of the width of parameter j from the profile of the cost to that by the curvature, at least 1.
double widening(const FitProblem& problem, const Optimum& best, Index j) {
  const double sd = std::sqrt(best.covariance(j, j));
  const VectorXd along = best.covariance.col(j) / best.covariance(j, j);
  const auto side = [&](int sign) {
    return [&, sign, at = best.z](double distance) mutable {
      at += (best.z[j] + sign * distance - at[j]) * along;
      return settle(problem, j, at) - best.cost;
    };
  };
  return std::max(1.0, profile_width(side(-1), side(+1), sd, kEndPrior) / sd);
}

/// Logarithm of the optimum's weight, without the constant that all share.
double log_observations(const Optimum& optimum) {
  const MatrixXd root = optimum.covariance.llt().matrixL();
  return root.diagonal().array().log().sum() - optimum.cost;
}

bool same(const Optimum& a, const Optimum& b) {
  const VectorXd apart = a.z - b.z;
  return apart.dot(b.covariance.llt().solve(apart)) < kSameOptimum;
}

/// The optimum `best`, and those in which another rate is the narrowest.
std::vector<Optimum> alternatives_of(const FitProblem& problem, const Optimum& best) {
  std::vector<Optimum> all{best};
  for (Index j = 0; j < problem.size(); ++j) {
    if (problem.parameter(j).alternative == Alternative::no || best.covariance(j, j) > kAtPrior * kAtPrior)
      continue;
    VectorXd start = best.z;
    start[j] += problem.parameter(j).alternative == Alternative::faster_above ? kFaster : -kFaster;
    Optimum found = optimum_from(problem, start);
    const bool known = std::any_of(all.begin(), all.end(), [&](const Optimum& o) { return same(found, o); });
    if (!known) all.push_back(std::move(found));
  }
  return all;
}

/// Gives `best` the covariance of FitOptions::profile_widths, and moves it to the lowest optimum on the path.
void take_profile_widths(const FitProblem& problem, Optimum& best) {
  std::vector<Optimum> optima = alternatives_of(problem, best);
  std::iter_swap(optima.begin(),
                 std::min_element(optima.begin(), optima.end(),
                                  [](const Optimum& a, const Optimum& b) { return a.cost < b.cost; }));
  const int iterations = best.iterations;
  best = optima.front();
  best.iterations = iterations;
  std::vector<double> weights;
  for (const Optimum& o : optima)
    weights.push_back(std::exp(log_observations(o) - log_observations(optima.front())));
  double sum = 0;
  for (const double w : weights) sum += w;

  VectorXd wider = VectorXd::Ones(problem.size());
  for (Index j = 0; j < problem.size(); ++j) {
    if (!problem.parameter(j).bends || best.covariance(j, j) > kAtPrior * kAtPrior) continue;
    wider[j] = widening(problem, best, j);
  }
  MatrixXd covariance = weights[0] / sum * (wider.asDiagonal() * best.covariance * wider.asDiagonal());
  for (std::size_t k = 1; k < optima.size(); ++k) {
    const VectorXd apart = optima[k].z - best.z;
    covariance += weights[k] / sum * (optima[k].covariance + apart * apart.transpose());
  }
  best.covariance = std::move(covariance);
}

FitResult solve(const FitProblem& problem, std::size_t parameters) {
  const Index n = problem.size();
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
  for (Index a = 0; a < n; ++a) {
    const std::size_t i = problem.free()[static_cast<std::size_t>(a)];
    result.prior_share[i] = std::sqrt(best.covariance(a, a));
    result.log_sd[i] = problem.log_sd(a) * result.prior_share[i];
    for (Index b = 0; b < n; ++b) {
      const double mean = 0.5 * (best.covariance(a, b) + best.covariance(b, a));  // symmetric to the bit
      result.covariance[i][problem.free()[static_cast<std::size_t>(b)]] =
          problem.log_sd(a) * problem.log_sd(b) * mean;
    }
  }
  return result;
}

}  // namespace

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

std::string_view verdict(double prior_share, double moved) {
  if (prior_share < 0.5) return "identified";
  if (prior_share < 0.9) return "weakly";
  return std::abs(moved) < kMoved ? "at prior" : "moved";
}

}  // namespace trnplan::calibrate
