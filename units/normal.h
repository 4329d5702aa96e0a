// The normal distribution. Boost.Math does the work, out of this header's sight.
#pragma once

namespace trnplan {

/// Two-sided 90 % of a normal distribution, in standard deviations.
inline constexpr double kNinetyPercent = 1.6448536269514722;

/// Phi(z), the probability that a standard normal lies below `z`; NaN of NaN.
[[nodiscard]] double normal_probability(double z);

/// phi(z), its density.
[[nodiscard]] double normal_density(double z);

/// Phi^-1(p); minus and plus infinity of 0 and 1, NaN outside.
[[nodiscard]] double normal_quantile(double p);

}  // namespace trnplan
