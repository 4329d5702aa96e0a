// The problem that fit() solves, in Eigen's vectors. Private to calibrate/fit: it is not installed.
#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "calibrate/fit/fit.h"

namespace trnplan::calibrate {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// rho'(s): weight of a residual of that square.
[[nodiscard]] double weight(Loss loss, double s);

/// The problem in z, the free parameters in units of their prior.
class FitProblem {
 public:
  /// Throws std::invalid_argument as fit() does. Keeps references to all arguments.
  FitProblem(const std::vector<FitParameter>& parameters, const std::vector<Observation>& observations,
             const Predict& predict, const Linearise& linearise, const FitOptions& options);

  const std::vector<std::size_t>& free() const { return free_; }
  const FitParameter& parameter(Index j) const { return parameters_[free_[static_cast<std::size_t>(j)]]; }
  const FitOptions& options() const { return options_; }
  double log_sd(Index j) const { return parameter(j).log_sd; }
  Index size() const { return static_cast<Index>(free_.size()); }

  /// Values of all parameters, including the fixed ones.
  std::vector<double> values(const VectorXd& z) const;
  /// log(predicted / measured); nullopt if a prediction over- or underflows and `trial` allows it.
  std::optional<VectorXd> logs(const VectorXd& z, bool trial) const;
  /// The same in units of their noise; 0 for a bound that is kept.
  VectorXd scaled(VectorXd logs) const;
  double cost(const VectorXd& z, const VectorXd& r) const;
  /// J' W J + V and J' W r + V z, V the weights of the priors.
  std::pair<MatrixXd, VectorXd> normal(const VectorXd& z, const VectorXd& r) const;
  /// The Hessian of the cost with the losses' second derivatives, as FitOptions::exact_curvature says.
  MatrixXd curvature_at(const VectorXd& z, const VectorXd& r) const;
  /// The weights of the priors at z, as in normal().
  VectorXd prior_weights(const VectorXd& z) const;

 private:
  /// Logarithms in units of the noise.
  VectorXd divided(VectorXd logs) const;
  /// True if observation i is a bound that the prediction keeps, so that it has no weight.
  bool silent(Index i, double r) const {
    return observations_[static_cast<std::size_t>(i)].at_most && r <= 0;
  }
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
  mutable Linearised last_;  ///< at last_at_: an accepted trial is linearised for free
  mutable VectorXd last_at_;
  std::vector<std::size_t> free_;
};

}  // namespace trnplan::calibrate
