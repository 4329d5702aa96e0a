// Random numbers of the simulations of runs. Private to planner/: it is not installed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>

#include "planner/cost/goodput.h"
#include "planner/cost/reliability.h"
#include "units/median.h"

namespace trnplan::planner {

/// Random numbers that are the same everywhere: the distributions of <random> differ between standard
/// libraries, those of Boost.Random do not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  double uniform() { return boost::random::uniform_01<double>()(engine_); }
  double exponential(double mean) {
    return mean * boost::random::exponential_distribution<double>()(engine_);
  }
  double normal() { return boost::random::normal_distribution<double>()(engine_); }
  /// Seed of another sequence.
  std::uint64_t seed() { return engine_(); }

 private:
  boost::random::mt19937_64 engine_;
};

/// Draws each parameter that is there from its distribution. Interruptions of the spot market are drawn only for
/// `spot`, so that they do not change the random numbers of other runs.
inline Reliability drawn_from(const Reliability& r, Random& random, bool spot = false) {
  Reliability drawn;
  for (std::size_t i = 0; i < kReliabilityParameters; ++i) {
    if (static_cast<ReliabilityParameter>(i) == ReliabilityParameter::spot_interruption && !spot) continue;
    const models::Value& v = r.values[i];
    if (may_be_absent(static_cast<ReliabilityParameter>(i)) && !(v.median > 0)) continue;
    drawn.values[i].median = v.median * std::exp(v.log_sd * random.normal());
    if (is_share(static_cast<ReliabilityParameter>(i)))
      drawn.values[i].median = std::min(drawn.values[i].median, 1.0);
  }
  return drawn;
}

struct Percentiles {
  double median = 0;
  Interval ninety;
};
/// Median, 5th and 95th percentile, by nearest rank. Requires: not empty.
inline Percentiles percentiles(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {percentile(values, 0.5), {percentile(values, 0.05), percentile(values, 0.95)}};
}

}  // namespace trnplan::planner
