// What a measurement teaches, and what it would teach before anybody makes it.
//
// Unknown are normal quantities x (logarithms, around 0) with covariance S. A measurement sees w'x and noise
// of variance r; whatever it shows, what is left afterwards is
//   S <- S - (S w)(S w)' / (w' S w + r)              (R. E. Kalman, J. Basic Engineering 82, 1960)
// Of two actions the first is the better one when d ~ N(mu, s^2) is positive. With v^2 the variance of d that
// is left, the mean m of d after the measurement is itself N(mu, t^2), t^2 = s^2 - v^2, and goes with d by
// rho = t / s. One who goes by the sign of m chooses right where both have one sign, and gains max(m, -m)
// instead of |mu|: preposterior analysis, H. Raiffa and R. Schlaifer, Applied Statistical Decision Theory,
// 1961.
#pragma once

#include <cstddef>
#include <vector>

namespace trnplan::models {

/// Jointly normal unknowns around 0.
class Posterior {
 public:
  /// Of each unknown; may be shorter than there are unknowns: the rest is 0.
  using Weights = std::vector<double>;

  Posterior() = default;
  /// Requires: `covariance` is square, symmetric and positive semi-definite.
  explicit Posterior(const std::vector<std::vector<double>>& covariance);

  /// One more unknown, independent of the others; its index. Cost: O(size^2).
  std::size_t add(double variance);
  /// Of w'x and of a'x with b'x. Cost: O(size^2).
  double variance(const Weights& w) const { return covariance(w, w); }
  double covariance(const Weights& a, const Weights& b) const;
  /// By how much each unknown moves where w'x, seen with noise of that variance, is 1 more than was expected:
  /// S w / (w' S w + r); zeros where it was known before. Cost: O(size^2).
  Weights gain(const Weights& w, double noise_variance) const;
  /// After seeing w'x with noise of that variance. Cost: O(size^2).
  void observe(const Weights& w, double noise_variance);
  /// S, a row after the other.
  std::vector<Weights> covariance() const;

 private:
  std::size_t size_ = 0;
  std::vector<double> s_;  ///< S, a column after the other
};

/// Of a difference N(mean, sd^2) that a measurement leaves with the standard deviation sd_after <= sd.
///
/// P(the choice after it is right) = P(m > 0, d > 0) + P(m < 0, d < 0)
///   = Phi(h) Phi(k) + Phi(-h) Phi(-k) + 1/pi int_0^asin(rho) exp(-(h^2 + k^2 - 2 h k sin a) / (2 cos^2 a))
///   da
/// with h = mean / t, k = mean / sd (R. L. Plackett, Biometrika 41, 1954); without a measurement (t = 0) that
/// is Phi(|mean| / sd), for mean = 0 it is 1/2 + asin(rho) / pi. By Gauss-Kronrod quadrature, to some 1e-12.
double probability_of_right_choice(double mean, double sd, double sd_after);

/// E max(m, -m) - |mean| over 2: by how much the better of the two beats, on average, what one would choose
/// now. = t (phi(u) - u Phi(-u)), u = |mean| / t: Raiffa and Schlaifer's unit normal linear loss integral. In
/// the unit of d: of logarithms of steps, a share of the step.
double expected_gain(double mean, double sd, double sd_after);

}  // namespace trnplan::models
