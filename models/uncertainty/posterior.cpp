#include "models/uncertainty/posterior.h"

#include <Eigen/Core>
#include <algorithm>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <cmath>
#include <numbers>

#include "units/normal.h"

namespace trnplan::models {

namespace {

/// A share of the earlier standard deviation: a measurement that explains less explains nothing.
constexpr double kNothing = 1e-9;
constexpr unsigned kHalvings = 12;     ///< of the interval, at most
constexpr double kQuadrature = 1e-12;  ///< relative error that ends them

/// sqrt(s^2 - v^2); rounding may put v above s.
double learnt(double sd, double sd_after) {
  return std::sqrt(std::max(0.0, (sd - sd_after) * (sd + sd_after)));
}

/// Integral from 0 to `end`.
template <class Function>
double integral(double end, const Function& f) {
  return boost::math::quadrature::gauss_kronrod<double, 31>::integrate(f, 0.0, end, kHalvings, kQuadrature);
}

using Matrix = Eigen::Map<Eigen::MatrixXd>;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXd>;

Eigen::Index index(std::size_t n) {
  return static_cast<Eigen::Index>(n);
}

/// The weights, extended to as many as there are unknowns.
Eigen::VectorXd whole(const Posterior::Weights& w, std::size_t size) {
  Eigen::VectorXd v = Eigen::VectorXd::Zero(index(size));
  const Eigen::Index n = index(std::min(w.size(), size));
  v.head(n) = Eigen::Map<const Eigen::VectorXd>(w.data(), index(w.size())).head(n);
  return v;
}

}  // namespace

Posterior::Posterior(const std::vector<std::vector<double>>& covariance)
    : size_(covariance.size()), s_(size_ * size_) {
  for (std::size_t i = 0; i < size_; ++i) {
    for (std::size_t j = 0; j < size_; ++j) s_[i + j * size_] = covariance[i][j];
  }
}

std::size_t Posterior::add(double variance) {
  std::vector<double> larger((size_ + 1) * (size_ + 1), 0);
  Matrix grown(larger.data(), index(size_ + 1), index(size_ + 1));
  grown.topLeftCorner(index(size_), index(size_)) = ConstMatrix(s_.data(), index(size_), index(size_));
  larger.back() = variance;
  s_ = std::move(larger);
  return size_++;
}

double Posterior::covariance(const Weights& a, const Weights& b) const {
  const ConstMatrix s(s_.data(), index(size_), index(size_));
  return whole(a, size_).dot(s * whole(b, size_));
}

Posterior::Weights Posterior::gain(const Weights& w, double noise_variance) const {
  const double total = noise_variance + variance(w);
  Weights gains(size_, 0);
  if (!(total > 0)) return gains;
  Eigen::Map<Eigen::VectorXd>(gains.data(), index(size_)) =
      ConstMatrix(s_.data(), index(size_), index(size_)) * whole(w, size_) / total;
  return gains;
}

void Posterior::observe(const Weights& w, double noise_variance) {
  Matrix s(s_.data(), index(size_), index(size_));
  const Eigen::VectorXd weights = whole(w, size_), gain = s * weights;
  const double total = noise_variance + weights.dot(gain);
  if (!(total > 0)) return;  // already known
  s -= gain * gain.transpose() / total;
}

std::vector<Posterior::Weights> Posterior::covariance() const {
  std::vector<Weights> rows;
  for (std::size_t i = 0; i < size_; ++i) {
    Weights& row = rows.emplace_back();
    for (std::size_t j = 0; j < size_; ++j) row.push_back(s_[i + j * size_]);
  }
  return rows;
}

double probability_of_right_choice(double mean, double sd, double sd_after) {
  if (!(sd > 0)) return mean == 0 ? 0.5 : 1;
  const double t = learnt(sd, sd_after), k = mean / sd;
  if (t <= kNothing * sd) return normal_probability(std::abs(k));
  const double rho = std::min(1.0, t / sd), h = k / rho;
  // h^2 + k^2 - 2 h k sin a = (h - k)^2 + 2 h k (1 - sin a), and cos^2 a = (1 - sin a)(1 + sin a): no 0 / 0.
  const auto density = [&](double a) {
    const double sine = std::sin(a), cosine = std::cos(a), apart = h - k;
    const double first = apart == 0 ? 0 : apart * apart / (2 * cosine * cosine);
    return std::exp(-first - h * k / (1 + sine));
  };
  const double apart_from_it =
      normal_probability(h) * normal_probability(k) + normal_probability(-h) * normal_probability(-k);
  return std::min(1.0, apart_from_it + integral(std::asin(rho), density) / std::numbers::pi);
}

double expected_gain(double mean, double sd, double sd_after) {
  const double t = learnt(sd, sd_after);
  if (t <= kNothing * sd || !(sd > 0)) return 0;
  const double u = std::abs(mean) / t;
  return t * (normal_density(u) - u * normal_probability(-u));
}

}  // namespace trnplan::models
