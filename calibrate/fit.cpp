#include "calibrate/fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace trnplan::calibrate {

namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kStudentFreedom = 4;
/// A trial step changes no parameter by more than a factor e^2: wide priors would else probe absurd values.
constexpr double kLongestStep = 2;
/// Gains of the cost below this share of it are rounding.
constexpr double kRounding = 1e-15;

double rho(Loss loss, double s) {
  switch (loss) {
    case Loss::soft_l1:
      return 2 * s / (std::sqrt(1 + s) + 1);
    case Loss::student_t:
      return (kStudentFreedom + 1) * std::log1p(s / kStudentFreedom);
    case Loss::gaussian:
      break;
  }
  return s;
}

double weight(Loss loss, double s) {
  switch (loss) {
    case Loss::soft_l1:
      return 1 / std::sqrt(1 + s);
    case Loss::student_t:
      return (kStudentFreedom + 1) / (kStudentFreedom + s);
    case Loss::gaussian:
      break;
  }
  return 1;
}

/// d^2/dr^2 of rho(r^2) / 2, at least 0: rho' + 2 s rho''.
double curvature(Loss loss, double s) {
  switch (loss) {
    case Loss::soft_l1:
      return std::pow(1 + s, -1.5);
    case Loss::student_t:
      return std::max(0.0, (kStudentFreedom + 1) * (kStudentFreedom - s) / std::pow(kStudentFreedom + s, 2));
    case Loss::gaussian:
      break;
  }
  return 1;
}

bool positive(double value) {
  return std::isfinite(value) && value > 0;
}

void require(bool good, const std::string& what) {
  if (!good) throw std::invalid_argument("fit: " + what);
}

std::string number(std::size_t index) {
  return std::to_string(index + 1);
}

/// The problem in z, the free parameters in units of their prior.
class Problem {
 public:
  Problem(const std::vector<FitParameter>& parameters, const std::vector<Observation>& observations,
          const Predict& predict, const Linearise& linearise, const FitOptions& options)
      : parameters_(parameters),
        observations_(observations),
        predict_(predict),
        linearise_(linearise),
        options_(options) {
    require(options.max_iterations >= 0, "max_iterations is negative");
    require(positive(options.tolerance), "the tolerance is not positive");
    require(positive(options.step), "the step is not positive");
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const FitParameter& p = parameters[i];
      require(positive(p.median), "the median of parameter \"" + p.name + "\" is not positive");
      require(std::isfinite(p.log_sd) && p.log_sd >= 0,
              "the spread of parameter \"" + p.name + "\" is negative or not finite");
      if (p.log_sd > 0) free_.push_back(i);
    }
    for (std::size_t i = 0; i < observations.size(); ++i) {
      require(positive(observations[i].measured), "observation " + number(i) + " is not positive");
      require(positive(observations[i].log_sd),
              "the spread of observation " + number(i) + " is not positive");
    }
    require(observations.empty() || predict != nullptr || linearise != nullptr,
            "no function predicts the observations");
  }

  const std::vector<std::size_t>& free() const { return free_; }
  double log_sd(Eigen::Index j) const { return parameters_[free_[static_cast<std::size_t>(j)]].log_sd; }
  Eigen::Index size() const { return static_cast<Eigen::Index>(free_.size()); }

  std::vector<double> values(const VectorXd& z) const {
    std::vector<double> values;
    values.reserve(parameters_.size());
    for (const FitParameter& p : parameters_) values.push_back(p.median);
    for (Eigen::Index j = 0; j < size(); ++j) {
      values[free_[static_cast<std::size_t>(j)]] *= std::exp(log_sd(j) * z[j]);
    }
    return values;
  }

  /// log(predicted / measured); nullopt when a prediction over- or underflows and `trial` allows it.
  std::optional<VectorXd> logs(const VectorXd& z, bool trial) const {
    VectorXd result(static_cast<Eigen::Index>(observations_.size()));
    if (observations_.empty()) return result;
    const std::vector<double> predicted = predicted_at(z);
    require(predicted.size() == observations_.size(), std::to_string(predicted.size()) + " predictions for " +
                                                          std::to_string(observations_.size()) +
                                                          " observations");
    bool overflow = false;
    for (std::size_t i = 0; i < predicted.size(); ++i) {
      if (!positive(predicted[i])) {
        if (!trial || std::isnan(predicted[i]) || predicted[i] < 0) {
          throw std::domain_error("fit: the prediction of observation " + number(i) + " is " +
                                  std::to_string(predicted[i]));
        }
        overflow = true;
        continue;
      }
      result[static_cast<Eigen::Index>(i)] = std::log(predicted[i]) - std::log(observations_[i].measured);
    }
    if (overflow) return std::nullopt;
    return result;
  }

  VectorXd scaled(VectorXd logs) const {
    for (Eigen::Index i = 0; i < logs.size(); ++i)
      logs[i] /= observations_[static_cast<std::size_t>(i)].log_sd;
    return logs;
  }

  double cost(const VectorXd& z, const VectorXd& r) const {
    double sum = 0;
    for (Eigen::Index j = 0; j < z.size(); ++j) sum += rho(prior(j), z[j] * z[j]);
    for (Eigen::Index i = 0; i < r.size(); ++i) sum += rho(options_.loss, r[i] * r[i]);
    return sum / 2;
  }

  /// J' W J + V and J' W r + V z, V the weights of the priors.
  std::pair<MatrixXd, VectorXd> normal(const VectorXd& z, const VectorXd& r) const {
    const MatrixXd jacobian = jacobian_at(z);
    VectorXd of_prior(size());
    for (Eigen::Index j = 0; j < size(); ++j) of_prior[j] = weight(prior(j), z[j] * z[j]);
    VectorXd weights(r.size());
    for (Eigen::Index i = 0; i < r.size(); ++i) weights[i] = weight(options_.loss, r[i] * r[i]);
    const MatrixXd weighted = weights.asDiagonal() * jacobian;
    MatrixXd hessian = jacobian.transpose() * weighted;
    hessian.diagonal() += of_prior;
    return {hessian, weighted.transpose() * r + of_prior.cwiseProduct(z)};
  }

  /// The Hessian of the cost, with the losses' second derivatives.
  MatrixXd curvature_at(const VectorXd& z, const VectorXd& r) const {
    const MatrixXd jacobian = jacobian_at(z);
    VectorXd of_data(r.size());
    for (Eigen::Index i = 0; i < r.size(); ++i) of_data[i] = curvature(options_.loss, r[i] * r[i]);
    MatrixXd hessian = jacobian.transpose() * of_data.asDiagonal() * jacobian;
    // Priors with their weights: a prior that is left behind must not leave its parameter without any.
    hessian.diagonal() += prior_weights(z);
    return hessian;
  }

  /// The weights of the priors at z, as in normal().
  VectorXd prior_weights(const VectorXd& z) const {
    VectorXd weights(size());
    for (Eigen::Index j = 0; j < size(); ++j) weights[j] = weight(prior(j), z[j] * z[j]);
    return weights;
  }

 private:
  Loss prior(Eigen::Index j) const {
    return parameters_[free_[static_cast<std::size_t>(j)]].heavy_tails ? Loss::student_t : Loss::gaussian;
  }

  std::vector<double> predicted_at(const VectorXd& z) const {
    if (!linearise_) return predict_(values(z));
    last_ = linearise_(values(z));
    last_at_ = z;
    return last_.predicted;
  }

  MatrixXd jacobian_at(const VectorXd& z) const { return linearise_ ? derivatives(z) : differences(z); }

  MatrixXd differences(const VectorXd& z) const {
    MatrixXd jacobian(static_cast<Eigen::Index>(observations_.size()), size());
    for (Eigen::Index j = 0; j < size() && jacobian.rows() > 0; ++j) {
      const double h = options_.step / log_sd(j);
      VectorXd above = z, below = z;
      above[j] += h;
      below[j] -= h;
      jacobian.col(j) = scaled(*logs(above, false) - *logs(below, false)) / (above[j] - below[j]);
    }
    return jacobian;
  }

  MatrixXd derivatives(const VectorXd& z) const {
    MatrixXd jacobian(static_cast<Eigen::Index>(observations_.size()), size());
    if (jacobian.rows() == 0) return jacobian;
    if (last_at_.size() != z.size() || last_at_ != z) predicted_at(z);
    require(last_.gradient.size() == observations_.size(), "the gradient has another number of rows");
    for (Eigen::Index i = 0; i < jacobian.rows(); ++i) {
      const std::vector<double>& row = last_.gradient[static_cast<std::size_t>(i)];
      require(row.size() == parameters_.size(), "the gradient has another number of columns");
      for (Eigen::Index j = 0; j < size(); ++j) {
        jacobian(i, j) = row[free_[static_cast<std::size_t>(j)]] * log_sd(j) /
                         observations_[static_cast<std::size_t>(i)].log_sd;
      }
    }
    return jacobian;
  }

  const std::vector<FitParameter>& parameters_;
  const std::vector<Observation>& observations_;
  const Predict predict_;
  const Linearise linearise_;
  mutable Linearised last_;  ///< at last_at_: the trial that is accepted is linearised for free
  mutable VectorXd last_at_;
  const FitOptions& options_;
  std::vector<std::size_t> free_;
};

FitResult solve(const Problem& problem, const std::vector<FitParameter>& parameters,
                const FitOptions& options) {
  const Eigen::Index n = problem.size();
  FitResult result;
  VectorXd z = VectorXd::Zero(n);
  VectorXd logs = *problem.logs(z, false);
  VectorXd r = problem.scaled(logs);
  double cost = problem.cost(z, r);
  auto [hessian, gradient] = problem.normal(z, r);
  double damping = 1e-3;
  result.converged = n == 0;
  while (!result.converged && result.iterations < options.max_iterations) {
    ++result.iterations;
    // Towards the optimum of the damped linear model, shorter until the cost falls.
    bool moved = false;
    while (!moved && !result.converged) {
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
      const bool hopeless = promised <= options.least_gain * cost;
      if (step.isZero(0) || (damping > 1 && (still || hopeless)) ||
          (options.least_gain > kRounding && hopeless)) {
        result.converged = true;
        break;
      }
      const VectorXd trial = z + step;
      const auto trial_logs = problem.logs(trial, true);
      const VectorXd trial_r = trial_logs ? problem.scaled(*trial_logs) : r;
      const double trial_cost =
          trial_logs ? problem.cost(trial, trial_r) : std::numeric_limits<double>::infinity();
      if (trial_cost <= cost) {
        z = trial;
        logs = *trial_logs;
        r = trial_r;
        cost = trial_cost;
        moved = true;
        result.converged = still && damping <= 1;  // not small merely because of the damping
        damping = std::max(damping / 10, 1e-12);
      } else {
        damping *= 10;
        if (!(damping < 1e30)) break;
      }
    }
    if (!moved) break;
    std::tie(hessian, gradient) = problem.normal(z, r);
  }

  result.median = problem.values(z);
  result.residuals.assign(logs.begin(), logs.end());
  result.cost = cost;
  const std::size_t count = parameters.size();
  result.log_sd.assign(count, 0);
  result.prior_share.assign(count, 1);
  result.covariance.assign(count, std::vector<double>(count, 0));
  if (n == 0) return result;
  const MatrixXd identity = MatrixXd::Identity(n, n);
  if (options.exact_curvature) hessian = problem.curvature_at(z, r);
  MatrixXd covariance = hessian.llt().solve(identity);
  if (options.scale_noise && r.size() > 0) {
    const double decided = static_cast<double>(n) - covariance.diagonal().dot(problem.prior_weights(z));
    double squares = 0;
    for (Eigen::Index i = 0; i < r.size(); ++i) squares += weight(options.loss, r[i] * r[i]) * r[i] * r[i];
    result.noise_scale = std::max(1.0, squares / std::max(1.0, static_cast<double>(r.size()) - decided));
    const MatrixXd of_prior = problem.prior_weights(z).asDiagonal();
    covariance = ((hessian - of_prior) / result.noise_scale + of_prior).llt().solve(identity);
  }
  for (Eigen::Index a = 0; a < n; ++a) {
    const std::size_t i = problem.free()[static_cast<std::size_t>(a)];
    result.prior_share[i] = std::sqrt(covariance(a, a));
    result.log_sd[i] = problem.log_sd(a) * result.prior_share[i];
    for (Eigen::Index b = 0; b < n; ++b) {
      const double mean = 0.5 * (covariance(a, b) + covariance(b, a));  // symmetric to the bit
      result.covariance[i][problem.free()[static_cast<std::size_t>(b)]] =
          problem.log_sd(a) * problem.log_sd(b) * mean;
    }
  }
  return result;
}

}  // namespace

FitResult fit(const std::vector<FitParameter>& parameters, const std::vector<Observation>& observations,
              const Predict& predict, const FitOptions& options) {
  return solve(Problem(parameters, observations, predict, {}, options), parameters, options);
}

FitResult fit_linearised(const std::vector<FitParameter>& parameters,
                         const std::vector<Observation>& observations, const Linearise& linearise,
                         const FitOptions& options) {
  return solve(Problem(parameters, observations, {}, linearise, options), parameters, options);
}

std::string_view verdict(double prior_share) {
  if (prior_share < 0.5) return "identified";
  if (prior_share < 0.9) return "weakly";
  return "at prior";
}

}  // namespace trnplan::calibrate
