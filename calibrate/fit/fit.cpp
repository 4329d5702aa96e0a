#include "calibrate/fit/fit.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "calibrate/fit/profile_width.h"

namespace trnplan::calibrate {

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double kStudentFreedom = 4;
/// A trial step changes no parameter by more than a factor e^2: wide priors would else probe absurd values.
constexpr double kLongestStep = 2;
/// A median that went further, in prior standard deviations, is not where the prior had it.
constexpr double kMoved = 0.1;
/// Gains of the cost below this share of it are rounding.
constexpr double kRounding = 1e-15;
/// Parameters wider than this, in prior standard deviations, are the prior's, which is Gaussian.
constexpr double kAtPrior = 0.9;
/// Where alternatives are looked for: so many prior standard deviations faster.
constexpr double kFaster = 2;
/// Profiles end here, in prior standard deviations.
constexpr double kEndPrior = 5;
constexpr int kSettling = 3;  ///< Gauss-Newton steps of the other parameters at each point of a profile
/// Optima closer than that, in squared posterior standard deviations, are one.
constexpr double kSameOptimum = 1;

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

/// d^2/dr^2 of rho(r^2) / 2, at least 0. Student's t: at most its expected information, (v + 1) / (v + 3)
/// (K. Lange, R. Little and J. Taylor, Robust Statistical Modeling Using the t Distribution, 1989): a fit
/// with many parameters comes closer to its data than the truth does, which makes no single one of them
/// surer.
double curvature(Loss loss, double s) {
  switch (loss) {
    case Loss::soft_l1:
      return std::pow(1 + s, -1.5);
    case Loss::student_t: {
      const double observed =
          (kStudentFreedom + 1) * (kStudentFreedom - s) / std::pow(kStudentFreedom + s, 2);
      return std::clamp(observed, 0.0, (kStudentFreedom + 1) / (kStudentFreedom + 3));
    }
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

/// The problem in z, the free parameters in units of their prior.
class FitProblem {
 public:
  /// Throws std::invalid_argument as fit() does. Keeps references to all of it.
  FitProblem(const std::vector<FitParameter>& parameters, const std::vector<Observation>& observations,
             const Predict& predict, const Linearise& linearise, const FitOptions& options);

  const std::vector<std::size_t>& free() const { return free_; }
  const FitParameter& parameter(Index j) const { return parameters_[free_[static_cast<std::size_t>(j)]]; }
  const FitOptions& options() const { return options_; }
  double log_sd(Index j) const { return parameter(j).log_sd; }
  Index size() const { return static_cast<Index>(free_.size()); }

  /// Of all parameters, the fixed ones too.
  std::vector<double> values(const VectorXd& z) const;
  /// log(predicted / measured); nullopt when a prediction over- or underflows and `trial` allows it.
  std::optional<VectorXd> logs(const VectorXd& z, bool trial) const;
  /// The same in units of their noise.
  VectorXd scaled(VectorXd logs) const;
  double cost(const VectorXd& z, const VectorXd& r) const;
  /// J' W J + V and J' W r + V z, V the weights of the priors.
  std::pair<MatrixXd, VectorXd> normal(const VectorXd& z, const VectorXd& r) const;
  /// The Hessian of the cost with the losses' second derivatives, as FitOptions::exact_curvature says.
  MatrixXd curvature_at(const VectorXd& z, const VectorXd& r) const;
  /// The weights of the priors at z, as in normal().
  VectorXd prior_weights(const VectorXd& z) const;

 private:
  Loss prior(Index j) const;
  std::vector<double> predicted_at(const VectorXd& z) const;
  MatrixXd jacobian_at(const VectorXd& z) const;
  MatrixXd differences(const VectorXd& z) const;
  MatrixXd derivatives(const VectorXd& z) const;

  const std::vector<FitParameter>& parameters_;
  const std::vector<Observation>& observations_;
  const Predict& predict_;
  const Linearise& linearise_;
  const FitOptions& options_;
  mutable Linearised last_;  ///< at last_at_: the trial that is accepted is linearised for free
  mutable VectorXd last_at_;
  std::vector<std::size_t> free_;
};

FitProblem::FitProblem(const std::vector<FitParameter>& parameters,
                       const std::vector<Observation>& observations, const Predict& predict,
                       const Linearise& linearise, const FitOptions& options)
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
    require(positive(observations[i].log_sd), "the spread of observation " + number(i) + " is not positive");
  }
  require(observations.empty() || predict != nullptr || linearise != nullptr,
          "no function predicts the observations");
}

std::vector<double> FitProblem::values(const VectorXd& z) const {
  std::vector<double> values;
  values.reserve(parameters_.size());
  for (const FitParameter& p : parameters_) values.push_back(p.median);
  for (Index j = 0; j < size(); ++j) {
    values[free_[static_cast<std::size_t>(j)]] *= std::exp(log_sd(j) * z[j]);
  }
  return values;
}

std::optional<VectorXd> FitProblem::logs(const VectorXd& z, bool trial) const {
  VectorXd result(static_cast<Index>(observations_.size()));
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
    result[static_cast<Index>(i)] = std::log(predicted[i]) - std::log(observations_[i].measured);
  }
  if (overflow) return std::nullopt;
  return result;
}

VectorXd FitProblem::scaled(VectorXd logs) const {
  for (Index i = 0; i < logs.size(); ++i) logs[i] /= observations_[static_cast<std::size_t>(i)].log_sd;
  return logs;
}

double FitProblem::cost(const VectorXd& z, const VectorXd& r) const {
  double sum = 0;
  for (Index j = 0; j < z.size(); ++j) sum += rho(prior(j), z[j] * z[j]);
  for (Index i = 0; i < r.size(); ++i) sum += rho(options_.loss, r[i] * r[i]);
  return sum / 2;
}

std::pair<MatrixXd, VectorXd> FitProblem::normal(const VectorXd& z, const VectorXd& r) const {
  const MatrixXd jacobian = jacobian_at(z);
  VectorXd of_prior(size());
  for (Index j = 0; j < size(); ++j) of_prior[j] = weight(prior(j), z[j] * z[j]);
  VectorXd weights(r.size());
  for (Index i = 0; i < r.size(); ++i) weights[i] = weight(options_.loss, r[i] * r[i]);
  const MatrixXd weighted = weights.asDiagonal() * jacobian;
  MatrixXd hessian = jacobian.transpose() * weighted;
  hessian.diagonal() += of_prior;
  return {hessian, weighted.transpose() * r + of_prior.cwiseProduct(z)};
}

MatrixXd FitProblem::curvature_at(const VectorXd& z, const VectorXd& r) const {
  const MatrixXd jacobian = jacobian_at(z);
  VectorXd of_data(r.size());
  for (Index i = 0; i < r.size(); ++i) of_data[i] = curvature(options_.loss, r[i] * r[i]);
  MatrixXd hessian = jacobian.transpose() * of_data.asDiagonal() * jacobian;
  // Priors with their weights: a prior that is left behind must not leave its parameter without any.
  hessian.diagonal() += prior_weights(z);
  return hessian;
}

VectorXd FitProblem::prior_weights(const VectorXd& z) const {
  VectorXd weights(size());
  for (Index j = 0; j < size(); ++j) weights[j] = weight(prior(j), z[j] * z[j]);
  return weights;
}

Loss FitProblem::prior(Index j) const {
  return parameters_[free_[static_cast<std::size_t>(j)]].heavy_tails ? Loss::student_t : Loss::gaussian;
}

std::vector<double> FitProblem::predicted_at(const VectorXd& z) const {
  if (!linearise_) return predict_(values(z));
  last_ = linearise_(values(z));
  last_at_ = z;
  return last_.predicted;
}

MatrixXd FitProblem::jacobian_at(const VectorXd& z) const {
  return linearise_ ? derivatives(z) : differences(z);
}

MatrixXd FitProblem::differences(const VectorXd& z) const {
  MatrixXd jacobian(static_cast<Index>(observations_.size()), size());
  for (Index j = 0; j < size() && jacobian.rows() > 0; ++j) {
    const double h = options_.step / log_sd(j);
    VectorXd above = z, below = z;
    above[j] += h;
    below[j] -= h;
    jacobian.col(j) = scaled(*logs(above, false) - *logs(below, false)) / (above[j] - below[j]);
  }
  return jacobian;
}

MatrixXd FitProblem::derivatives(const VectorXd& z) const {
  MatrixXd jacobian(static_cast<Index>(observations_.size()), size());
  if (jacobian.rows() == 0) return jacobian;
  if (last_at_.size() != z.size() || last_at_ != z) predicted_at(z);
  require(last_.gradient.size() == observations_.size(), "the gradient has another number of rows");
  for (Index i = 0; i < jacobian.rows(); ++i) {
    const std::vector<double>& row = last_.gradient[static_cast<std::size_t>(i)];
    require(row.size() == parameters_.size(), "the gradient has another number of columns");
    for (Index j = 0; j < size(); ++j) {
      jacobian(i, j) = row[free_[static_cast<std::size_t>(j)]] * log_sd(j) /
                       observations_[static_cast<std::size_t>(i)].log_sd;
    }
  }
  return jacobian;
}

/// An optimum, with the Laplace covariance in z.
struct Optimum {
  VectorXd z, logs;
  MatrixXd covariance;
  double cost = 0;
  double noise_scale = 1;
  int iterations = 0;
  bool converged = false;
};

/// Laplace, in z, at the optimum.
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

/// The step, shortened to kLongestStep.
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
    // Towards the optimum of the damped linear model, shorter until the cost falls.
    bool moved = false;
    while (!moved && !at.converged) {
      MatrixXd damped = hessian;
      damped.diagonal() *= 1 + damping;
      VectorXd step = damped.llt().solve(-gradient);
      if (!step.allFinite()) break;
      shorten(problem, step);
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

/// The lowest cost that a few steps of all parameters but j find from `at`, which is moved there.
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

/// The width of parameter j from the profile of the cost over its width by the curvature, at least 1.
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

/// Of the covariance in z, without the constant all of them share.
double log_observations(const Optimum& optimum) {
  const MatrixXd root = optimum.covariance.llt().matrixL();
  return root.diagonal().array().log().sum() - optimum.cost;
}

bool same(const Optimum& a, const Optimum& b) {
  const VectorXd apart = a.z - b.z;
  return apart.dot(b.covariance.llt().solve(apart)) < kSameOptimum;
}

/// The optimum that `best` is, and those in which another rate is the narrowest.
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

/// Makes the covariance of `best` that of FitOptions::profile_widths, and `best` the lowest optimum it meets.
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
