// The problem behind calibrate/fit.h in z, the free parameters in units of their prior. Part of the fit only.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/fit.h"

namespace trnplan::calibrate {

/// A trial step changes no parameter by more than a factor e^2: wide priors would else probe absurd values.
inline constexpr double kLongestStep = 2;

/// rho'(s), the weight of a residual of square s.
double weight(Loss loss, double s);

class FitProblem {
 public:
  /// Throws std::invalid_argument as fit() does. Keeps references to all of it.
  FitProblem(const std::vector<FitParameter>& parameters, const std::vector<Observation>& observations,
             const Predict& predict, const Linearise& linearise, const FitOptions& options);

  const std::vector<std::size_t>& free() const { return free_; }
  const FitParameter& parameter(Eigen::Index j) const {
    return parameters_[free_[static_cast<std::size_t>(j)]];
  }
  const FitOptions& options() const { return options_; }
  double log_sd(Eigen::Index j) const { return parameter(j).log_sd; }
  Eigen::Index size() const { return static_cast<Eigen::Index>(free_.size()); }

  /// Of all parameters, the fixed ones too.
  std::vector<double> values(const Eigen::VectorXd& z) const;
  /// log(predicted / measured); nullopt when a prediction over- or underflows and `trial` allows it.
  std::optional<Eigen::VectorXd> logs(const Eigen::VectorXd& z, bool trial) const;
  /// The same in units of their noise.
  Eigen::VectorXd scaled(Eigen::VectorXd logs) const;
  double cost(const Eigen::VectorXd& z, const Eigen::VectorXd& r) const;
  /// J' W J + V and J' W r + V z, V the weights of the priors.
  std::pair<Eigen::MatrixXd, Eigen::VectorXd> normal(const Eigen::VectorXd& z,
                                                     const Eigen::VectorXd& r) const;
  /// The Hessian of the cost with the losses' second derivatives, as FitOptions::exact_curvature says.
  Eigen::MatrixXd curvature_at(const Eigen::VectorXd& z, const Eigen::VectorXd& r) const;
  /// The weights of the priors at z, as in normal().
  Eigen::VectorXd prior_weights(const Eigen::VectorXd& z) const;

 private:
  Loss prior(Eigen::Index j) const;
  std::vector<double> predicted_at(const Eigen::VectorXd& z) const;
  Eigen::MatrixXd jacobian_at(const Eigen::VectorXd& z) const;
  Eigen::MatrixXd differences(const Eigen::VectorXd& z) const;
  Eigen::MatrixXd derivatives(const Eigen::VectorXd& z) const;

  const std::vector<FitParameter>& parameters_;
  const std::vector<Observation>& observations_;
  const Predict& predict_;
  const Linearise& linearise_;
  const FitOptions& options_;
  mutable Linearised last_;  ///< at last_at_: the trial that is accepted is linearised for free
  mutable Eigen::VectorXd last_at_;
  std::vector<std::size_t> free_;
};

/// An optimum, with the Laplace covariance in z.
struct Optimum {
  Eigen::VectorXd z, logs;
  Eigen::MatrixXd covariance;
  double cost = 0;
  double noise_scale = 1;
  int iterations = 0;
  bool converged = false;
};

/// Levenberg-Marquardt from `start`.
Optimum optimum_from(const FitProblem& problem, const Eigen::VectorXd& start);

/// Makes the covariance of `best` that of FitOptions::profile_widths, and `best` the lowest optimum it meets.
void take_profile_widths(const FitProblem& problem, Optimum& best);

}  // namespace trnplan::calibrate
