// Steps over the states of a network: quantiles, intervals and comparisons.
#include "models/uncertainty/mixture.h"

#include <algorithm>
#include <cmath>

#include "models/uncertainty/compare.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "units/normal.h"

using namespace trnplan;
using models::Mixture;
using models::StepReport;

namespace {

/// A step of one state, with the 90 % interval of its log-sd.
StepReport step_of(double seconds, double log_sd) {
  StepReport r;
  r.schema = datasheet().schema;
  r.step = Seconds(seconds);
  r.low = r.step * std::exp(-kNinetyPercent * log_sd);
  r.high = r.step * std::exp(kNinetyPercent * log_sd);
  return r;
}

StepReport in_two_states(double probability, double times_slower, double log_sd = 0.1) {
  StepReport r = step_of(10, log_sd);
  models::add_slow_state(r, probability, step_of(10 * times_slower, log_sd));
  return r;
}

/// Probability below x by the trapezoidal rule over the density, from 12 standard deviations below all.
double integrated(const Mixture& parts, double x) {
  double from = x, sum = 0;
  for (const models::MixturePart& p : parts) from = std::min(from, p.mean - 12 * p.sd);
  constexpr int kSteps = 200000;
  const double width = (x - from) / kSteps;
  for (int i = 0; i <= kSteps; ++i) {
    const double at = from + i * width;
    double density = 0;
    for (const models::MixturePart& p : parts)
      density += p.weight * normal_density((at - p.mean) / p.sd) / p.sd;
    sum += (i == 0 || i == kSteps ? 0.5 : 1) * density * width;
  }
  return sum;
}

}  // namespace

// Catches a wrong weight, a wrong bracket, or a bisection that stops early.
TEST_CASE("quantiles of a mixture are those of its integrated density", "[models]") {
  for (const Mixture& parts :
       {Mixture{{0.8, 0, 0.1}, {0.2, 1, 0.3}}, Mixture{{0.3, 2, 0.05}, {0.7, 2.5, 0.5}},
        Mixture{{0.5, 0, 0.2}, {0.25, 0, 0.2}, {0.25, -3, 1}}}) {
    for (const double p : {0.05, 0.1, 0.5, 0.81, 0.95}) {
      const double x = models::mixture_quantile(parts, p);
      CHECK(integrated(parts, x) == Approx(p).epsilon(1e-6));
      CHECK(models::mixture_probability(parts, x) == Approx(p).epsilon(1e-12));
    }
  }
  CHECK(models::mixture_quantile({{1, 3, 0.2}}, 0.95) == Approx(3 + 0.2 * kNinetyPercent));
  CHECK(models::mixture_probability({{0.5, 0, 0}, {0.5, 1, 0}}, 0.5) == 0.5);
}

// Halves of one sd make a normal of the root of the squares. A half above alone, k times as wide as the normal it is
// added to: P(sum <= 0) = 1/2 (1/2) + integral of phi(t) Phi(-k t) over t > 0 = 1/2 - atan(k) / (2 pi), 3/8 for k = 1.
TEST_CASE("halves of a normal are added to a mixture", "[models]") {
  const Mixture alone{{1, 3, 0.2}};
  const Mixture even = models::plus_halves(alone, 0.15, 0.15);
  for (const double p : {0.05, 0.3, 0.5, 0.95})
    CHECK(models::mixture_quantile(even, p) == Approx(3 + 0.25 * normal_quantile(p)).margin(0.002));
  for (const double k : {0.2, 1.0, 5.0}) {
    const Mixture skewed = models::plus_halves({{1, 0, 0.1}}, 0, 0.1 * k);
    CHECK(models::mixture_probability(skewed, 0) == Approx(0.5 - std::atan(k) / 6.283185307).margin(0.002));
  }
  CHECK(models::plus_halves(alone, 0, 0).size() == 1);
}

// 20 % slow by e^2, far apart: the 95th percentile of all is the 75th of the slow part, 2 + 0.6745 x 0.1, and
// the 5th is the 6.25th of the usual one, -1.5341 x 0.1.
TEST_CASE("the interval over two states is skewed to the slow side around the same median", "[models]") {
  const StepReport r = in_two_states(0.2, std::exp(2.0));
  CHECK(r.step == Seconds(10));
  CHECK(std::log(r.high / r.step) == Approx(2.06745).epsilon(1e-4));
  CHECK(std::log(r.low / r.step) == Approx(-0.15341).epsilon(1e-4));
  // Two equal states are one.
  const StepReport same = in_two_states(0.4, 1), one = step_of(10, 0.1);
  CHECK(same.low.value == Approx(one.low.value));
  CHECK(same.high.value == Approx(one.high.value));
}

TEST_CASE("a likelier or slower state never narrows the slow side", "[models]") {
  double before = 0;
  for (const double times : {1.0, 1.1, 1.5, 2.0, 5.0}) {
    double likelier = before;
    for (const double probability : {0.02, 0.1, 0.3, 0.6, 0.9}) {
      const StepReport r = in_two_states(probability, times);
      CHECK(r.low <= r.step);
      CHECK(r.step <= r.high);
      if (times > 1) CHECK(r.high.value >= likelier);
      likelier = r.high.value;
    }
    before = in_two_states(0.02, times).high.value;
  }
}

// Catches a widening that forgets one state, or that makes the interval symmetric.
TEST_CASE("widening an interval widens each of its states", "[models]") {
  StepReport r = in_two_states(0.2, 3), wider = in_two_states(0.2, 3, std::hypot(0.1, 0.24));
  models::widen(r, 0.24);
  CHECK(r.low.value == Approx(wider.low.value));
  CHECK(r.high.value == Approx(wider.high.value));
  StepReport one = step_of(10, 0.1);
  models::widen(one, 0.24);
  CHECK(one.high.value == Approx(step_of(10, 0.26).high.value));
  CHECK(one.low.value == Approx(step_of(10, 0.26).low.value));
}

// The first is 10 % faster in the usual state and twice as slow in the other, where both surely are or not:
// with almost no doubt within a state, P(faster) is the probability of the usual state.
TEST_CASE("two steps meet the same state of the network", "[models]") {
  models::Profile sure = datasheet();
  for (models::Value& v : sure.values) v.log_sd = 0;
  sure.value(models::common::configuration_spread).median = 1e-6;
  StepReport a = step_of(10, 0.1), b = step_of(11, 0.1);
  models::add_slow_state(a, 0.3, step_of(40, 0.1));
  models::add_slow_state(b, 0.3, step_of(20, 0.1));
  CHECK(models::probability_faster(a, b, sure) == Approx(0.7));
  CHECK(models::probability_faster(b, a, sure) == Approx(0.3));
  CHECK(models::log_ratio(a, b, sure).quantile(0.1) == Approx(std::log(0.5)).margin(1e-4));
}

// 0.3 of 10 s and 0.7 of 40 s.
TEST_CASE("the mean of a step over two states, by hand", "[models]") {
  CHECK(models::mean_step(in_two_states(0.7, 4)).value == Approx(31));
  CHECK(models::mean_step(step_of(10, 0.1)).value == 10);
}
