// The posterior after a measurement, and the value of a measurement before it is made.
//
// The unknowns are normal quantities x (logarithms, around 0) with covariance S. A measurement observes w'x
// with noise of variance r; whatever its result, the covariance afterwards is
//   S <- S - (S w)(S w)' / (w' S w + r)              (R. E. Kalman, J. Basic Engineering 82, 1960)
// Of two actions the first is better when d ~ N(mu, s^2) is positive. With v^2 the remaining variance of d,
// the mean m of d after the measurement is itself N(mu, t^2), t^2 = s^2 - v^2, and correlates with d by rho =
// t / s. A choice by the sign of m is right where both have one sign, and gains max(m, -m) instead of |mu|:
// preposterior analysis, H. Raiffa and R. Schlaifer, Applied Statistical Decision Theory, 1961.
#pragma once

#include <cstddef>
#include <vector>

namespace trnplan::models {

/// Jointly normal unknowns around 0.
class Posterior {
 public:
  /// One weight for each unknown; missing ones at the end are 0.
  using Weights = std::vector<double>;

  Posterior() = default;
  /// Requires: `covariance` is square, symmetric and positive semi-definite.
  explicit Posterior(const std::vector<std::vector<double>>& covariance);

  /// Adds an unknown that is independent of the others, and returns its index. Cost: O(size^2).
  std::size_t add(double variance);
  /// Variance of w'x; covariance() is that of a'x with b'x. Cost: O(size^2).
  double variance(const Weights& w) const { return covariance(w, w); }
  double covariance(const Weights& a, const Weights& b) const;
  /// Movement of each unknown when w'x, observed with noise of that variance, is 1 above its expectation: S w
  /// / (w' S w + r). Zeros where it was already known. Cost: O(size^2).
  Weights gain(const Weights& w, double noise_variance) const;
  /// Updates S by an observation of w'x with noise of that variance. Cost: O(size^2).
  void observe(const Weights& w, double noise_variance);
  /// S, row by row.
  std::vector<Weights> covariance() const;

 private:
  std::size_t size_ = 0;
  std::vector<double> s_;  ///< S, column by column
};

/// Probability of the right choice by a difference N(mean, sd^2), of which a measurement leaves the standard
/// deviation sd_after <= sd.
///
/// P(the choice after it is right) = P(m > 0, d > 0) + P(m < 0, d < 0)
///   = Phi(h) Phi(k) + Phi(-h) Phi(-k)
///     + 1/pi int_0^asin(rho) exp(-(h^2 + k^2 - 2 h k sin a) / (2 cos^2 a)) da
/// with h = mean / t, k = mean / sd (R. L. Plackett, Biometrika 41, 1954). Without a measurement (t = 0) that
/// is Phi(|mean| / sd); for mean = 0 it is 1/2 + asin(rho) / pi. By Gauss-Kronrod quadrature, to some 1e-12.
double probability_of_right_choice(double mean, double sd, double sd_after);

/// (E max(m, -m) - |mean|) / 2: the mean gain of the better of the two over the choice before the
/// measurement. = t (phi(u) - u Phi(-u)), u = |mean| / t: Raiffa and Schlaifer's unit normal linear loss
/// integral. In the unit of d; for logarithms of steps, a share of the step.
double expected_gain(double mean, double sd, double sd_after);

}  // namespace trnplan::models
