#include "models/step/jitter.h"

#include <algorithm>
#include <cmath>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>

#include "units/normal.h"

namespace trnplan::models {

struct Jitter::Engine {
  boost::random::mt19937_64 bits;
  boost::random::normal_distribution<double> normal;
};

namespace {

/// The largest of `n` standard normal numbers, of which `z` has the rank that one of them would have.
double largest_of(int n, double z) {
  constexpr double kMost = 1 - 1e-16;
  return n == 1 ? z : normal_quantile(std::min(std::pow(normal_probability(z), 1.0 / n), kMost));
}

}  // namespace

Jitter::Jitter(const RandomTimes& random, int run, const Strategy& strategy)
    : log_sd_(random.log_sd),
      ranks_(strategy.tensor_parallel * strategy.context_parallel),
      engine_(std::make_unique<Engine>()),
      factors_(static_cast<std::size_t>(strategy.data_parallel)) {
  engine_->bits.seed(random.seed + (static_cast<std::uint64_t>(run) << 32));
}
Jitter::~Jitter() = default;
Jitter::Jitter(Jitter&&) noexcept = default;
Jitter& Jitter::operator=(Jitter&&) noexcept = default;

const std::vector<double>& Jitter::draw() {
  for (double& f : factors_) f = std::exp(log_sd_ * largest_of(ranks_, engine_->normal(engine_->bits)));
  return factors_;
}

}  // namespace trnplan::models
