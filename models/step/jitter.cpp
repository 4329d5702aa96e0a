#include "models/step/jitter.h"

#include <cmath>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>

namespace trnplan::models {

struct Jitter::Engine {
  boost::random::mt19937_64 bits;
  boost::random::normal_distribution<double> normal;
};

Jitter::Jitter(const RandomTimes& random, int run, int replicas)
    : log_sd_(random.log_sd),
      engine_(std::make_unique<Engine>()),
      factors_(static_cast<std::size_t>(replicas)) {
  engine_->bits.seed(random.seed + (static_cast<std::uint64_t>(run) << 32));
}
Jitter::~Jitter() = default;
Jitter::Jitter(Jitter&&) noexcept = default;
Jitter& Jitter::operator=(Jitter&&) noexcept = default;

const std::vector<double>& Jitter::draw() {
  for (double& f : factors_) f = std::exp(log_sd_ * engine_->normal(engine_->bits));
  return factors_;
}

}  // namespace trnplan::models
