#include "models/uncertainty/compare.h"

#include <cmath>
#include <memory>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>

#include "models/device/neuron_core_parameters.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using models::Dominance;
using models::Profile;
using models::StepReport;

namespace {

/// Parameters are known exactly; operators err by 0.3.
Profile of_operators() {
  Profile p = datasheet();
  for (models::Value& v : p.values) v.log_sd = 0;
  p.value(models::common::operator_spread).median = 0.3;
  return p;
}

StepReport report_of(const std::vector<std::pair<std::string, double>>& operators) {
  StepReport r;
  r.schema = datasheet().schema;
  for (const auto& [name, seconds] : operators) {
    r.by_operator.emplace_back(name, Seconds(seconds));
    r.step += Seconds(seconds);
  }
  r.by_parameter[models::neuron::matmul_efficiency.place()] = r.step;
  return r;
}

}  // namespace

// Steps of 100 s that share 90: shares 0.9, 0.1, 0 and 0.9, 0, 0.1, so d = 2 * 0.1^2 = 0.02 and the standard
// deviation of the ratio is 0.3 sqrt(0.02) = 0.04243. One second more of the second part alone: shares
// 90/101 and 11/101 against 0.9, 0.1 and 0; log(1.01) = 0.00995.
TEST_CASE("strategies are compared by what differs between them", "[models]") {
  const StepReport a = report_of({{"qkv", 90}, {"gather", 10}}), b = report_of({{"qkv", 90}, {"send", 10}});
  const Profile profile = of_operators();
  CHECK(models::breakdown_distance(a, b) == Approx(0.02));
  CHECK(models::own_variance(a, b, profile) == Approx(0.09 * 0.02));
  CHECK(models::log_ratio(a, b, profile).sd == Approx(0.042426).epsilon(1e-4));
  CHECK(models::probability_faster(a, b, profile) == 0.5);
  const StepReport longer = report_of({{"qkv", 90}, {"send", 11}});
  const double d = std::pow(0.9 - 90 / 101.0, 2) + 0.01 + std::pow(11 / 101.0, 2);
  CHECK(models::probability_faster(a, longer, profile) ==
        Approx(0.5 + 0.5 * std::erf(std::log(1.01) / (0.3 * std::sqrt(2 * d)))));
}

// The steps above, d = 0.02: the difference of operators has the variance 0.0018. With own errors of 0.06 the
// correlation of the two is 1 - 0.0018 / (2 * 0.0036) = 0.75. The factor of the first, 1.04, was learnt with a
// log-sd of 0.01: 0.0036 (1 - 0.75^2) + (0.75 log 1.04)^2 + (0.25 * 0.01)^2. Where nothing was learnt of it, log-sd
// 0.06 around 1, this is the variance of operators again. Two that were learnt differ by their factors alone.
TEST_CASE("a layout that was learnt is compared by what is known of it", "[models]") {
  StepReport a = report_of({{"qkv", 90}, {"gather", 10}}), b = report_of({{"qkv", 90}, {"send", 10}});
  Profile profile = of_operators();
  a.own_log_sd = b.own_log_sd = 0.06;
  const std::size_t places = profile.schema->places();
  const auto learn = [&](double median, double sd) {
    auto c = std::make_shared<models::Calibration>();
    c->stacks = {{"nxdt", "", median, sd, "trn1.32xlarge", "a"}, {"nxdt", "", 1, 0.02, "trn1.32xlarge", "b"}};
    c->covariance.assign(places + 2, std::vector<double>(places + 2, 0));
    c->covariance[places][places] = sd * sd;
    c->covariance[places + 1][places + 1] = 0.02 * 0.02;
    profile.calibration = c;
  };
  a.learnt = places;
  learn(1.04, 0.01);
  const double variance =
      0.0036 * (1 - 0.75 * 0.75) + std::pow(0.75 * std::log(1.04), 2) + std::pow(0.25 * 0.01, 2);
  CHECK(models::log_ratio(a, b, profile).sd == Approx(std::sqrt(variance)));
  CHECK(models::log_ratio(b, a, profile).sd == Approx(std::sqrt(variance)));
  learn(1, 0.06);
  CHECK(models::log_ratio(a, b, profile).sd == Approx(std::sqrt(0.0018)));
  // Reported: a ratio known to 0.8 % of steps known to 2 and 6 %, which leave at least 4 % open, whatever they share.
  learn(1, 0.01);
  const StepReport twin = a;  // no operator differs: nothing else is open
  StepReport other = twin;
  other.learnt.reset();
  a.log_sd = 0.02;
  other.log_sd = 0.06;
  CHECK(models::log_ratio(a, other, profile).sd == Approx(0.04));
  CHECK(models::log_ratio(other, a, profile).sd == Approx(0.04));
  learn(1.04, 0.01);
  b.learnt = places + 1;
  CHECK(models::log_ratio(a, b, profile).sd == Approx(std::hypot(0.01, 0.02)));
  // More of every part is no proof where a factor is part of it.
  const StepReport more = report_of({{"qkv", 91}, {"gather", 11}});
  CHECK(models::dominance(more, a) == Dominance::none);
}

TEST_CASE("a step without operators has an own part, independent of any other's", "[models]") {
  StepReport a = report_of({}), b = a;
  a.step = Seconds(100);
  b.step = Seconds(105);
  Profile profile = of_operators();
  profile.value(models::common::configuration_spread).median = 0.05;
  CHECK(models::own_variance(a, b, profile) == Approx(2 * 0.05 * 0.05));
  CHECK(models::dominance(a, b) == Dominance::none);
}

// Whatever the operators, a strategy with more of some and less of none is never the faster one; and the more
// of the difference is on one side, the surer.
TEST_CASE("a dominated strategy is never the faster one", "[models]") {
  Profile profile = datasheet();
  boost::random::mt19937 random(1);
  const boost::random::uniform_real_distribution<double> seconds(0.01, 10), more(1e-6, 5);
  const boost::random::uniform_int_distribution<int> count(1, 12), coin(0, 1);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<std::pair<std::string, double>> less, all;
    const int operators = count(random);
    for (int i = 0; i < operators; ++i) {
      less.emplace_back("operator " + std::to_string(i), seconds(random));
      all.emplace_back(less.back().first, less.back().second + (coin(random) == 1 ? more(random) : 0));
    }
    if (coin(random) == 1) all.emplace_back("recomputed", more(random));
    const StepReport a = report_of(less), b = report_of(all);
    INFO("trial " << trial);
    if (b.step == a.step) {
      CHECK(models::probability_faster(a, b, profile) == 0.5);
      continue;
    }
    CHECK(models::dominance(a, b) == Dominance::first_has_less);
    CHECK(models::dominance(b, a) == Dominance::second_has_less);
    CHECK(models::probability_faster(a, b, profile) == 1);
    CHECK(models::probability_faster(b, a, profile) == 0);
    // What the second costs less a second may outweigh it.
    CHECK(models::dominance(a, b, a.step.value / b.step.value / 2) != Dominance::first_has_less);
  }
}

TEST_CASE("recomputing more of the same layout is slower for certain", "[models]") {
  const models::Job job = job_of("llama3-8b", 1, 8192, 64);
  const Profile profile = test_catalog().profile("trn1");
  const StepReport less =
      simulate_step(job, strategy_of(job, "tp=8,recompute=CoreAttention+LlamaMLP"), profile);
  const StepReport more =
      simulate_step(job, strategy_of(job, "tp=8,recompute=CoreAttention+LlamaMLP+LlamaRMSNorm"), profile);
  REQUIRE(less.step < more.step);
  CHECK(models::probability_faster(more, less, profile) == 0);
  CHECK(models::probability_faster(less, more, profile) == 1);
  // Another layout has more of one part and less of another.
  const StepReport other = simulate_step(job, strategy_of(job, "tp=32"), profile);
  CHECK(models::dominance(less, other) == Dominance::none);
  const double p = models::probability_faster(less, other, profile);
  CHECK(p > 0.5);
  CHECK(p < 1);
}

// A mixture of equal steps counted its whole weight at 0 as not positive: "the first is surely slower".
TEST_CASE("equal plans are as likely to be faster in all states of a network", "[models]") {
  models::LogRatio ratio;
  ratio.states = {{0.8, 0, 0}, {0.2, 0, 0}};
  CHECK(ratio.positive() == 0.5);
  // The second is faster in the slow state alone.
  ratio.states = {{0.8, 0.1, 0}, {0.2, -0.1, 0}};
  CHECK(ratio.positive() == 0.8);
}
