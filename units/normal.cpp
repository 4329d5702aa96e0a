#include "units/normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <boost/math/distributions/normal.hpp>

namespace trnplan {

namespace {

namespace policies = boost::math::policies;

/// Boost.Math policy: returns NaN and infinity instead of throwing, and computes in double.
using Policy =
    policies::policy<policies::domain_error<policies::ignore_error>,
                     policies::overflow_error<policies::ignore_error>, policies::promote_double<false>>;
using Normal = boost::math::normal_distribution<double, Policy>;

}  // namespace

double normal_probability(double z) {
  return boost::math::cdf(Normal(), z);
}

double both_below(double a, double b, double correlation) {
  constexpr int kPieces = 128;  // of Simpson's rule
  const double end = std::asin(std::clamp(correlation, -1.0, 1.0)), width = end / kPieces;
  const auto slope = [&](double angle) {
    const double sine = std::sin(angle), left = 1 - sine * sine, apart = a * a + b * b - 2 * a * b * sine;
    // Where the correlation is 1, equal bounds leave one normal.
    if (left <= 1e-14) return std::abs(a - b) < 1e-7 ? std::exp(-a * a / 2) : 0.0;
    return std::exp(-apart / (2 * left));
  };
  double sum = slope(0) + slope(end);
  for (int i = 1; i < kPieces; ++i) sum += (i % 2 == 1 ? 4 : 2) * slope(i * width);
  const double both =
      normal_probability(a) * normal_probability(b) + sum * width / 3 / (2 * std::numbers::pi);
  return std::clamp(both, 0.0, std::min(normal_probability(a), normal_probability(b)));
}

double normal_density(double z) {
  return boost::math::pdf(Normal(), z);
}

double normal_quantile(double p) {
  return boost::math::quantile(Normal(), p);
}

}  // namespace trnplan
