#include "models/uncertainty/posterior.h"

#include <algorithm>
#include <cmath>

namespace trnplan::models {

namespace {

constexpr double kPi = 3.14159265358979323846;
/// Of standard deviation before: learning less than that is learning nothing.
constexpr double kNothing = 1e-9;
constexpr int kIntervals = 512;  ///< of Simpson's rule, even

/// sqrt(s^2 - v^2); rounding may put v above s.
double learnt(double sd, double sd_after) {
  return std::sqrt(std::max(0.0, (sd - sd_after) * (sd + sd_after)));
}

template <class Function>
double simpson(double end, const Function& f) {
  const double step = end / kIntervals;
  double sum = f(0) + f(end);
  for (int i = 1; i < kIntervals; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(i * step);
  return sum * step / 3;
}

}  // namespace

std::size_t Posterior::add(double variance) {
  for (std::vector<double>& row : s_) row.push_back(0);
  s_.emplace_back(s_.size() + 1, 0).back() = variance;
  return s_.size() - 1;
}

std::vector<double> Posterior::times(const Weights& w) const {
  std::vector<double> product(s_.size(), 0);
  for (std::size_t j = 0; j < std::min(w.size(), s_.size()); ++j) {
    if (w[j] == 0) continue;
    for (std::size_t i = 0; i < s_.size(); ++i) product[i] += s_[i][j] * w[j];
  }
  return product;
}

double Posterior::covariance(const Weights& a, const Weights& b) const {
  const std::vector<double> product = times(b);
  double sum = 0;
  for (std::size_t i = 0; i < std::min(a.size(), product.size()); ++i) sum += a[i] * product[i];
  return sum;
}

void Posterior::observe(const Weights& w, double noise_variance) {
  const std::vector<double> gain = times(w);
  double total = noise_variance;
  for (std::size_t i = 0; i < std::min(w.size(), gain.size()); ++i) total += w[i] * gain[i];
  if (!(total > 0)) return;  // known before
  for (std::size_t i = 0; i < s_.size(); ++i) {
    for (std::size_t j = 0; j < s_.size(); ++j) s_[i][j] -= gain[i] * gain[j] / total;
  }
}

double normal_probability(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2.0));
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
  return std::min(1.0, apart_from_it + simpson(std::asin(rho), density) / kPi);
}

double expected_gain(double mean, double sd, double sd_after) {
  const double t = learnt(sd, sd_after);
  if (t <= kNothing * sd || !(sd > 0)) return 0;
  const double u = std::abs(mean) / t;
  return t * (std::exp(-u * u / 2) / std::sqrt(2 * kPi) - u * normal_probability(-u));
}

}  // namespace trnplan::models
