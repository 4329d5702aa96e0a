#include "units/normal.h"

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

double normal_density(double z) {
  return boost::math::pdf(Normal(), z);
}

double normal_quantile(double p) {
  return boost::math::quantile(Normal(), p);
}

}  // namespace trnplan
