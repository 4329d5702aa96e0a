// The normal distribution. Boost.Math computes it; this header does not include Boost.
#pragma once

namespace trnplan {

/// Two-sided 90 % of a normal distribution, in standard deviations.
inline constexpr double kNinetyPercent = 1.6448536269514722;

/// Phi(z), the probability that a standard normal is below `z`; NaN if `z` is NaN.
[[nodiscard]] double normal_probability(double z);

/// Probability that two standard normals with that correlation, from -1 to 1, are below `a` and `b` (R. Plackett, A
/// Reduction Formula for Normal Multivariate Integrals, Biometrika 41, 1954). Within 1e-6.
[[nodiscard]] double both_below(double a, double b, double correlation);

/// phi(z), the density.
[[nodiscard]] double normal_density(double z);

/// Phi^-1(p); minus infinity at 0, plus infinity at 1, NaN outside [0, 1].
[[nodiscard]] double normal_quantile(double p);

}  // namespace trnplan
