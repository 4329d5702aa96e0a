#include "models/uncertainty/posterior.h"
#include "units/normal.h"

#include <cmath>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>

#include "models/step/collective_use.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using models::Posterior;

namespace {

constexpr double kPi = 3.14159265358979323846;

double sd_of(const Posterior& posterior, const Posterior::Weights& w) {
  return std::sqrt(std::max(0.0, posterior.variance(w)));
}

}  // namespace

// Two unknowns with variances 0.04 and 0.09, the first measured with a noise of 0.04: 0.02 of it is left, by
// 0.04 - 0.04^2 / (0.04 + 0.04). Their difference had 0.13 and keeps 0.02 + 0.09 = 0.11, so t^2 = 0.02.
// Around 0 the choice is right with 1/2 + asin(sqrt(0.02 / 0.13)) / pi = 1/2 + 0.40306 / pi = 0.62830, and
// gains sqrt(0.02) / sqrt(2 pi) = 0.056419.
TEST_CASE("one measurement of two unknowns, by hand", "[models][posterior]") {
  Posterior posterior({{0.04, 0}, {0, 0.09}});
  const Posterior::Weights difference = {1, -1};
  const double before = sd_of(posterior, difference);
  CHECK(before * before == Approx(0.13));
  posterior.observe({1}, 0.04);
  CHECK(posterior.variance({1}) == Approx(0.02));
  CHECK(posterior.variance({0, 1}) == Approx(0.09));
  const double after = sd_of(posterior, difference);
  CHECK(after * after == Approx(0.11));
  CHECK(models::probability_of_right_choice(0, before, after) == Approx(0.62830).epsilon(1e-5));
  CHECK(models::expected_gain(0, before, after) == Approx(0.056419).epsilon(1e-5));
}

// Variances 4 and 1, covariance 1. Of the sum, seen with noise 1: S w = (5, 2), w'Sw + r = 8, so 25/8, 10/8
// and 4/8 go: 0.875, -0.25, 0.5 are left. Seen 1 more than expected, the unknowns move by 5/8 and 2/8.
TEST_CASE("a measurement of a sum ties what it sums", "[models][posterior]") {
  Posterior posterior({{4, 1}, {1, 1}});
  CHECK(posterior.gain({1, 1}, 1) == Posterior::Weights{0.625, 0.25});
  CHECK(Posterior(std::vector<Posterior::Weights>{{0}}).gain({1}, 0) == Posterior::Weights{0});
  CHECK(posterior.covariance() == std::vector<Posterior::Weights>{{4, 1}, {1, 1}});
  posterior.observe({1, 1}, 1);
  CHECK(posterior.variance({1, 0}) == Approx(0.875));
  CHECK(posterior.variance({0, 1}) == Approx(0.5));
  CHECK(posterior.covariance({1, 0}, {0, 1}) == Approx(-0.25));
  const std::size_t more = posterior.add(9);
  CHECK(more == 2);
  CHECK(posterior.variance({1, 0, 2}) == Approx(0.875 + 36));
}

TEST_CASE("what is left never is wider, and the order does not matter", "[models][posterior]") {
  boost::random::mt19937 random(7);
  boost::random::uniform_real_distribution<double> any(-1, 1);
  for (int sample = 0; sample < 50; ++sample) {
    constexpr std::size_t kSize = 4;
    double root[kSize][kSize];
    for (auto& row : root) {
      for (double& x : row) x = any(random);
    }
    std::vector<std::vector<double>> s(kSize, std::vector<double>(kSize, 0));
    for (std::size_t i = 0; i < kSize; ++i) {
      for (std::size_t j = 0; j < kSize; ++j) {
        for (std::size_t k = 0; k < kSize; ++k) s[i][j] += root[i][k] * root[j][k];
      }
    }
    const auto weights = [&] {
      Posterior::Weights w;
      for (std::size_t i = 0; i < kSize; ++i) w.push_back(any(random));
      return w;
    };
    const Posterior::Weights a = weights(), b = weights(), of = weights();
    const double noise = std::abs(any(random));
    Posterior first(s), second(s), half(s);
    const double before = first.variance(of);
    first.observe(a, noise);
    CHECK(first.variance(of) <= before + 1e-12);
    first.observe(b, 0.5);
    second.observe(b, 0.5);
    second.observe(a, noise);
    CHECK(first.variance(of) == Approx(second.variance(of)).margin(1e-9));
    // Twice with the noise is once with half of it.
    Posterior twice(s);
    twice.observe(a, noise);
    twice.observe(a, noise);
    half.observe(a, noise / 2);
    CHECK(twice.variance(of) == Approx(half.variance(of)).margin(1e-9));
    // Never less right than before, and the same for both names of the two.
    const double sd = std::sqrt(before), after = std::sqrt(std::max(0.0, first.variance(of))),
                 mean = any(random);
    const double right = models::probability_of_right_choice(mean, sd, after);
    CHECK(right >= normal_probability(std::abs(mean) / sd) - 1e-9);
    CHECK(right <= 1);
    CHECK(right == Approx(models::probability_of_right_choice(-mean, sd, after)).epsilon(1e-9));
    CHECK(models::expected_gain(mean, sd, after) >= 0);
  }
}

TEST_CASE("limits: all is learnt, nothing is learnt, nothing was unknown", "[models][posterior]") {
  for (const double mean : {0.0, 0.01, 0.3, -0.2}) {
    CHECK(models::probability_of_right_choice(mean, 0.2, 0) == Approx(1).margin(1e-7));
    CHECK(models::probability_of_right_choice(mean, 0.2, 0.2) ==
          Approx(normal_probability(std::abs(mean) / 0.2)));
    CHECK(models::expected_gain(mean, 0.2, 0.2) == 0);
  }
  CHECK(models::probability_of_right_choice(0.1, 0, 0) == 1);
  CHECK(models::probability_of_right_choice(0, 0, 0) == 0.5);
  // A measurement of something else is none.
  Posterior posterior({{1, 0, 0}, {0, 1, 0}, {0, 0, 5}});
  posterior.observe({0, 0, 1}, 1e-9);
  CHECK(posterior.variance({1, -1}) == 2);
}

// The definition, played: d is drawn, then the mean that the measurement leaves (regression of m on d has
// slope t^2 / s^2 and keeps t^2 v^2 / s^2); one who goes by m's sign. Three standard errors of 400,000 draws.
TEST_CASE("probability and gain are those of a simulation", "[models][posterior]") {
  boost::random::mt19937 random(11);
  boost::random::normal_distribution<double> normal(0, 1);
  constexpr int kDraws = 400'000;
  const struct {
    double mean, sd, after;
  } cases[] = {{0, 1, 0.5}, {0.3, 1, 0.5}, {0.3, 1, 0.99}, {-1.5, 1, 0.7}, {0.02, 0.1, 0.01}};
  for (const auto& c : cases) {
    CAPTURE(c.mean, c.after);
    const double share = 1 - c.after * c.after / (c.sd * c.sd);  // t^2 / s^2
    double right = 0, gained = 0, square = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double d = c.mean + c.sd * normal(random);
      const double m = c.mean + share * (d - c.mean) + std::sqrt(share) * c.after * normal(random);
      right += (m > 0) == (d > 0);
      // Payoff d for the first, 0 for the second.
      const double gain = (m > 0 ? d : 0) - (c.mean > 0 ? d : 0);
      gained += gain;
      square += gain * gain;
    }
    const double p = right / kDraws, mean = gained / kDraws;
    CHECK(models::probability_of_right_choice(c.mean, c.sd, c.after) ==
          Approx(p).epsilon(0).margin(3 * std::sqrt(p * (1 - p) / kDraws)));
    CHECK(models::expected_gain(c.mean, c.sd, c.after) ==
          Approx(mean).epsilon(0).margin(3 * std::sqrt((square / kDraws - mean * mean) / kDraws)));
  }
  // Around 0, by Sheppard: rho = sqrt(1 - 0.5^2), asin of it pi / 3.
  CHECK(models::probability_of_right_choice(0, 1, 0.5) == Approx(0.5 + (kPi / 3) / kPi));
}

TEST_CASE("the collectives of a step", "[models][posterior]") {
  using models::CollectiveOp;
  const models::Job job = job_of("llama3-8b", 2, 4096, 64);
  const topology::ChipGraph graph(job.cluster.instance);
  const auto uses_of = [&](const char* strategy) {
    return models::collectives_of(models::StepModel(job, strategy_of(job, strategy), datasheet(), graph));
  };
  const auto find = [](const std::vector<models::CollectiveUse>& uses, CollectiveOp op, int ranks,
                       int nodes) {
    for (const models::CollectiveUse& u : uses) {
      if (u.op == op && u.ranks == ranks && u.nodes == nodes) return u;
    }
    return models::CollectiveUse{};
  };
  const auto uses = uses_of("tp=8");
  // TP 8 inside a node: activations of 4096 tokens of 4096 elements in bf16 are gathered and scattered.
  const double activations = 4096.0 * 4096 * 2;
  CHECK(find(uses, CollectiveOp::all_gather, 8, 1).largest.value == activations);
  CHECK(find(uses, CollectiveOp::reduce_scatter, 8, 1).largest.value == activations);
  // ZeRO-1 over DP 8: four ranks on each of two nodes.
  CHECK(find(uses, CollectiveOp::all_gather, 8, 2).largest.value > 0);
  CHECK(find(uses, CollectiveOp::reduce_scatter, 8, 2).largest.value > 0);
  CHECK(find(uses, CollectiveOp::all_reduce, 8, 1).smallest.value == 4.0 * 4096);  // a norm's gradient
  for (const models::CollectiveUse& u : uses) {
    CHECK(u.smallest.value > 0);
    CHECK(u.smallest <= u.largest);
    CHECK(u.op != CollectiveOp::send_recv);
  }
  // Without tensor parallel nothing runs on 8 ranks of one node.
  CHECK(find(uses_of("tp=1,pp=4,recompute=full"), CollectiveOp::all_gather, 8, 1).largest.value == 0);
}
