// Random numbers of the simulations of runs. Private to planner/: it is not installed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <boost/random/exponential_distribution.hpp>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>

#include "planner/cost/goodput.h"
#include "planner/cost/reliability.h"
#include "units/median.h"
#include "units/normal.h"

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

/// Draws each parameter that is there from its distribution: `normal(i)` is a normal deviate for parameter i.
/// Interruptions of the spot market are drawn only for `spot`, so that they do not change the random numbers of other
/// runs.
template <class Normal>
Reliability drawn_from(const Reliability& r, const Normal& normal, bool spot) {
  Reliability drawn;
  drawn.rate_of_node = r.rate_of_node;
  for (std::size_t i = 0; i < kReliabilityParameters; ++i) {
    if (static_cast<ReliabilityParameter>(i) == ReliabilityParameter::spot_interruption && !spot) continue;
    const models::Value& v = r.values[i];
    if (may_be_absent(static_cast<ReliabilityParameter>(i)) && !(v.median > 0)) continue;
    drawn.values[i].median = v.median * std::exp(v.log_sd * normal(i));
    if (is_share(static_cast<ReliabilityParameter>(i)))
      drawn.values[i].median = std::min(drawn.values[i].median, 1.0);
  }
  return drawn;
}

inline Reliability drawn_from(const Reliability& r, Random& random, bool spot = false) {
  return drawn_from(
      r, [&](std::size_t) { return random.normal(); }, spot);
}

/// Normal deviates of parameters in a number of draws: of each parameter one in each of as many intervals, all equally
/// likely (Latin hypercube sampling: M. McKay, R. Beckman, W. Conover, Technometrics 21, 1979). Percentiles of what
/// follows from them are far less random than with as many independent ones.
class StratifiedNormals {
 public:
  StratifiedNormals(int draws, std::size_t parameters, Random& random)
      : draws_(static_cast<std::size_t>(std::max(draws, 0))) {
    for (std::size_t d = 0; d < draws_; ++d)
      deviates_.push_back(normal_quantile((static_cast<double>(d) + 0.5) / static_cast<double>(draws)));
    for (std::size_t p = 0; p < parameters; ++p) {
      std::vector<std::uint32_t> order(draws_);
      std::iota(order.begin(), order.end(), 0u);
      for (std::size_t left = draws_; left > 1; --left)  // R. Durstenfeld, 1964
        std::swap(order[left - 1],
                  order[static_cast<std::size_t>(random.uniform() * static_cast<double>(left))]);
      orders_.push_back(std::move(order));
    }
  }
  double operator()(std::size_t draw, std::size_t parameter) const {
    return deviates_[orders_[parameter][draw]];
  }

 private:
  std::size_t draws_;
  std::vector<double> deviates_;
  std::vector<std::vector<std::uint32_t>> orders_;  ///< by parameter, of draws
};

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
