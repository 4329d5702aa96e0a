#include "calibrate/fit/fit_problem.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace trnplan::calibrate {

namespace {

constexpr double kStudentFreedom = 4;

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

/// d^2/dr^2 of rho(r^2) / 2, at least 0. Student's t: at most its expected information, (v + 1) / (v + 3) (K.
/// Lange, R. Little and J. Taylor, Robust Statistical Modeling Using the t Distribution, 1989): a fit with
/// many parameters comes closer to its data than the truth does, which makes no single parameter surer.
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

}  // namespace

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

VectorXd FitProblem::divided(VectorXd logs) const {
  for (Index i = 0; i < logs.size(); ++i) logs[i] /= observations_[static_cast<std::size_t>(i)].log_sd;
  return logs;
}

VectorXd FitProblem::scaled(VectorXd logs) const {
  VectorXd r = divided(std::move(logs));
  for (Index i = 0; i < r.size(); ++i) {
    if (silent(i, r[i])) r[i] = 0;
  }
  return r;
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
  for (Index i = 0; i < r.size(); ++i) weights[i] = silent(i, r[i]) ? 0 : weight(options_.loss, r[i] * r[i]);
  const MatrixXd weighted = weights.asDiagonal() * jacobian;
  MatrixXd hessian = jacobian.transpose() * weighted;
  hessian.diagonal() += of_prior;
  return {hessian, weighted.transpose() * r + of_prior.cwiseProduct(z)};
}

MatrixXd FitProblem::curvature_at(const VectorXd& z, const VectorXd& r) const {
  const MatrixXd jacobian = jacobian_at(z);
  VectorXd of_data(r.size());
  for (Index i = 0; i < r.size(); ++i) {
    of_data[i] = silent(i, r[i]) ? 0 : curvature(options_.loss, r[i] * r[i]);
  }
  MatrixXd hessian = jacobian.transpose() * of_data.asDiagonal() * jacobian;
  // The weights of priors: a prior far from its parameter must not leave it without a weight.
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
    jacobian.col(j) = divided(*logs(above, false) - *logs(below, false)) / (above[j] - below[j]);
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

}  // namespace trnplan::calibrate
