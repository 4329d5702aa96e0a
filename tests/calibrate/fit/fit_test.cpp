#include "calibrate/fit/fit.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/catch.h"

using namespace trnplan;
using calibrate::fit;
using calibrate::FitParameter;
using calibrate::Loss;
using calibrate::Observation;

namespace {

using Values = std::vector<double>;

std::vector<Observation> observe(const Values& exact, double log_sd) {
  std::vector<Observation> observations;
  for (const double value : exact) observations.push_back({value, log_sd});
  return observations;
}

/// Latency and bandwidth: seconds = a + bytes / b.
Values linear(const Values& x) {
  Values seconds;
  for (double bytes = 1e3; bytes < 2e9; bytes *= 4) seconds.push_back(x[0] + bytes / x[1]);
  return seconds;
}

}  // namespace

TEST_CASE("a linear model is recovered", "[calibrate]") {
  for (const Loss loss : {Loss::gaussian, Loss::soft_l1, Loss::student_t}) {
    const auto result = fit({{"latency", 1e-3, 3}, {"bandwidth", 1e9, 3}},
                            observe(linear({58e-6, 56.8e9}), 1e-4), linear, {.loss = loss});
    CHECK(result.converged);
    CHECK(result.iterations < 50);
    CHECK(result.median[0] == Approx(58e-6).epsilon(1e-6));
    CHECK(result.median[1] == Approx(56.8e9).epsilon(1e-6));
    for (const double r : result.residuals) CHECK(std::abs(r) < 1e-6);
    CHECK(calibrate::verdict(result.prior_share[0]) == "identified");
  }
}

// One scale, observations alternately a factor e^d above and below: without a prior to speak of the
// covariance is noise^2 / n, with scaled noise d^2 / (n - 1).
TEST_CASE("noise grows where the residuals say so", "[calibrate]") {
  constexpr double kNoise = 0.1;
  constexpr std::size_t kCount = 20;
  const auto scale = [](const Values& x) { return Values(kCount, x[0]); };
  for (const double d : {0.01, 0.4}) {
    std::vector<Observation> observations;
    for (std::size_t i = 0; i < kCount; ++i) observations.push_back({std::exp(i % 2 == 0 ? d : -d), kNoise});
    const auto plain = fit({{"a", 1, 5}}, observations, scale, {.loss = Loss::gaussian});
    const auto scaled =
        fit({{"a", 1, 5}}, observations, scale, {.loss = Loss::gaussian, .scale_noise = true});
    CHECK(plain.noise_scale == 1.0);
    CHECK(scaled.median == plain.median);
    CHECK(plain.log_sd[0] == Approx(kNoise / std::sqrt(20.0)).epsilon(1e-3));
    const double expected = std::max(1.0, kCount * d * d / (kNoise * kNoise) / (kCount - 1));
    CHECK(scaled.noise_scale == Approx(expected).epsilon(1e-3));
    CHECK(scaled.log_sd[0] == Approx(plain.log_sd[0] * std::sqrt(expected)).epsilon(1e-2));
  }
}

TEST_CASE("a multiplicative model is recovered", "[calibrate]") {
  const auto model = [](const Values& x) {
    return Values{x[0] * x[1], x[0] / x[1], x[0] * x[1] * x[2] * x[2], x[2] / x[0]};
  };
  const auto result =
      fit({{"a", 1, 2}, {"b", 1, 2}, {"c", 1, 2}}, observe(model({0.37, 12.5, 3e-3}), 1e-5), model);
  CHECK(result.converged);
  CHECK(result.median[0] == Approx(0.37).epsilon(1e-6));
  CHECK(result.median[1] == Approx(12.5).epsilon(1e-6));
  CHECK(result.median[2] == Approx(3e-3).epsilon(1e-6));
}

TEST_CASE("without data the posterior is the prior", "[calibrate]") {
  const auto result = fit({{"a", 3, 0.5}, {"b", 7e-6, 0.1}, {"c", 2, 0}}, {}, nullptr);
  CHECK(result.converged);
  CHECK(result.median == Values{3, 7e-6, 2});
  CHECK(result.log_sd == Values{0.5, 0.1, 0});
  CHECK(result.prior_share == Values{1, 1, 1});
  CHECK(result.covariance[0][0] == 0.25);
  CHECK(result.covariance[0][1] == 0);
  CHECK(result.cost == 0);
  const auto nothing = fit({}, {}, nullptr);
  CHECK(nothing.converged);
  CHECK(nothing.median.empty());
}

TEST_CASE("what the data do not touch stays at its prior", "[calibrate]") {
  const auto model = [](const Values& x) { return Values{x[0] * x[2], x[0] / x[2]}; };
  const auto result = fit({{"a", 1, 1}, {"idle", 0.3, 0.7}, {"c", 1, 1}}, observe({4, 2}, 0.01), model);
  CHECK(result.converged);
  CHECK(result.median[1] == 0.3);
  CHECK(result.log_sd[1] == 0.7);
  CHECK(result.prior_share[1] == 1);
  CHECK(result.covariance[0][1] == 0);
  CHECK(calibrate::verdict(result.prior_share[1]) == "at prior");
  CHECK(result.median[0] != 1);
}

TEST_CASE("the covariance of a linear Gaussian problem", "[calibrate]") {
  // log y1 = u + v, log y2 = u: precision = diag(1/p^2) + J' J / s^2.
  const double pu = 0.5, pv = 2, s = 0.3;
  const auto model = [](const Values& x) { return Values{x[0] * x[1], x[0]}; };
  const auto result = fit({{"u", 1, pu}, {"v", 1, pv}}, {{std::exp(1.0), s}, {std::exp(0.4), s}}, model,
                          {.loss = Loss::gaussian});
  const double a = 1 / (pu * pu) + 2 / (s * s), b = 1 / (s * s), d = 1 / (pv * pv) + 1 / (s * s);
  const double det = a * d - b * b;
  CHECK(result.covariance[0][0] == Approx(d / det).epsilon(1e-8));
  CHECK(result.covariance[1][1] == Approx(a / det).epsilon(1e-8));
  CHECK(result.covariance[0][1] == Approx(-b / det).epsilon(1e-8));
  CHECK(result.covariance[0][1] == result.covariance[1][0]);
  CHECK(result.log_sd[0] == Approx(std::sqrt(d / det)).epsilon(1e-8));
  CHECK(result.prior_share[1] == Approx(std::sqrt(a / det) / pv).epsilon(1e-8));
  // Mean: precision^-1 J' y / s^2 with y = (1, 0.4).
  const double g0 = 1.4 / (s * s), g1 = 1 / (s * s);
  CHECK(std::log(result.median[0]) == Approx((d * g0 - b * g1) / det).epsilon(1e-8));
  CHECK(std::log(result.median[1]) == Approx((a * g1 - b * g0) / det).epsilon(1e-8));
  CHECK(result.residuals[0] ==
        Approx(std::log(result.median[0]) + std::log(result.median[1]) - 1).epsilon(1e-8));
}

TEST_CASE("an outlier moves a robust fit less", "[calibrate]") {
  const auto model = [](const Values& x) { return Values(9, x[0]); };
  auto observations = observe(Values(9, 1.0), 0.1);
  observations[4].measured = 10;
  const auto off = [&](Loss loss) {
    const auto result = fit({{"x", 1, 1}}, observations, model, {.loss = loss});
    CHECK(result.converged);
    return std::log(result.median[0]);
  };
  // Gaussian: a ninth of log 10, less what the prior holds back.
  CHECK(off(Loss::gaussian) == Approx(100 * std::log(10.0) / 901).epsilon(1e-8));
  CHECK(off(Loss::soft_l1) < off(Loss::gaussian) / 10);
  CHECK(off(Loss::student_t) < off(Loss::soft_l1));
  CHECK(off(Loss::student_t) > 0);
  // Soft L1 by hand: the weights w = 1 / sqrt(1 + r^2) balance the pulls, and make the covariance.
  const auto soft = fit({{"x", 1, 1}}, observations, model, {.loss = Loss::soft_l1});
  const double u = std::log(soft.median[0]), r = u / 0.1, far = (u - std::log(10.0)) / 0.1;
  const double w = 1 / std::sqrt(1 + r * r), w_far = 1 / std::sqrt(1 + far * far);
  CHECK(std::abs(8 * w * r / 0.1 + w_far * far / 0.1 + u) < 1e-5);
  CHECK(soft.log_sd[0] == Approx(1 / std::sqrt(1 + (8 * w + w_far) / 0.01)).epsilon(1e-8));
}

TEST_CASE("all parameters fixed", "[calibrate]") {
  const auto result =
      fit({{"a", 2, 0}}, {{1, 0.5}}, [](const Values& x) { return x; }, {.loss = Loss::gaussian});
  CHECK(result.converged);
  CHECK(result.iterations == 0);
  CHECK(result.median == Values{2});
  CHECK(result.residuals[0] == Approx(std::log(2.0)));
  CHECK(result.cost == Approx(0.5 * 4 * std::log(2.0) * std::log(2.0)));
  CHECK(result.prior_share == Values{1});
}

TEST_CASE("a hard start, a kink and overflow", "[calibrate]") {
  // Ten orders of magnitude away, with a strongly curved model.
  const auto power = [](const Values& x) { return Values{std::pow(x[0], 3) + 1e-12, std::sqrt(x[0])}; };
  const auto far = fit({{"x", 1e10, 10}}, observe(power({2.5}), 1e-3), power);
  CHECK(far.converged);
  CHECK(far.median[0] == Approx(2.5).epsilon(1e-6));
  // The slower of two: only one of them is seen.
  const auto slower = [](const Values& x) { return Values{std::max(x[0], x[1])}; };
  const auto kink = fit({{"x", 1, 1}, {"y", 1.1, 1}}, {{5, 0.01}}, slower);
  CHECK(kink.median[1] == Approx(5).epsilon(0.01));
  CHECK(kink.median[0] == 1);
  // A trial step that overflows is shortened.
  const auto steep = [](const Values& x) { return Values{std::exp(x[0] * x[0])}; };
  const auto result = fit({{"x", 20, 3}}, {{std::exp(600.0), 0.5}}, steep);
  CHECK(result.converged);
  CHECK(result.median[0] == Approx(std::sqrt(600.0)).epsilon(1e-3));
}

TEST_CASE("the same input gives the same bits", "[calibrate]") {
  const auto once = [] {
    return fit({{"a", 1e-3, 3}, {"b", 1e9, 3}}, observe(linear({58e-6, 56.8e9}), 0.1), linear);
  };
  const auto first = once(), second = once();
  CHECK(first.median == second.median);
  CHECK(first.covariance == second.covariance);
  CHECK(first.cost == second.cost);
}

TEST_CASE("bad input to a fit", "[calibrate]") {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto same = [](const Values& x) { return x; };
  for (const double median : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_AS(fit({{"a", median, 1}}, {{1, 1}}, same), std::invalid_argument);
    CHECK_THROWS_AS(fit({{"a", 1, 1}}, {{median, 1}}, same), std::invalid_argument);
    CHECK_THROWS_AS(fit({{"a", 1, 1}}, {{1, median}}, same), std::invalid_argument);
    CHECK_THROWS_AS(fit({{"a", 1, 1}}, {{1, 1}}, same, {.step = median}), std::invalid_argument);
    CHECK_THROWS_AS(fit({{"a", 1, 1}}, {{1, 1}}, [=](const Values&) { return Values{median}; }),
                    std::domain_error);
  }
  CHECK_THROWS_AS(fit({{"a", 1, -1}}, {{1, 1}}, same), std::invalid_argument);
  CHECK_THROWS_AS(fit({{"a", 1, 1}}, {{1, 1}}, nullptr), std::invalid_argument);
  CHECK_THROWS_AS(fit({{"a", 1, 1}}, {{1, 1}, {1, 1}}, same), std::invalid_argument);
  CHECK_THROWS_AS(fit({}, {{1, 1}}, same, {.max_iterations = -1}), std::invalid_argument);
  try {
    fit({{"a", 1, 1}, {"b", 1, 1}}, {{1, 1}, {1, 1}}, [](const Values&) { return Values{1, nan}; });
    FAIL("no error");
  } catch (const std::domain_error& e) {
    CHECK(std::string(e.what()) == "fit: the prediction of observation 2 is nan");
  }
  const auto few = fit({{"a", 1, 1}}, {{100, 0.01}}, same, {.max_iterations = 1});
  CHECK_FALSE(few.converged);
  CHECK(few.iterations == 1);
}

// Linear and Gaussian: the profile of each parameter is its marginal, so nothing changes.
TEST_CASE("profiles of a Gaussian have the widths of its curvature", "[calibrate]") {
  const auto product = [](const Values& x) { return Values{x[0] * x[1], x[0] / x[1], x[0]}; };
  std::vector<FitParameter> parameters{{"a", 1, 1}, {"b", 1, 0.7}};
  for (FitParameter& p : parameters) p.bends = true;
  const auto observations = observe({2, 3, 2.5}, 0.3);
  const auto plain = fit(parameters, observations, product, {.loss = Loss::gaussian});
  const auto profiled =
      fit(parameters, observations, product, {.loss = Loss::gaussian, .profile_widths = true});
  CHECK(profiled.median == plain.median);
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 2; ++j) {
      CHECK(profiled.covariance[i][j] == Approx(plain.covariance[i][j]).epsilon(1e-3));
    }
  }
}

// Two terms, x and 1: the time is the larger of both, here 1.15 with 10 % noise. Above 1 the posterior is a
// narrow Gaussian; below it is flat except for the prior. With one parameter the profile is the posterior, so
// its second moment around the optimum is an integral.
TEST_CASE("a profile sees the flat side of a kink", "[calibrate]") {
  const auto longer = [](const Values& x) { return Values{std::max(x[0], 1.0)}; };
  std::vector<FitParameter> parameters{{"x", 1.1, 1}};
  parameters[0].bends = true;
  const std::vector<Observation> observations{{1.15, 0.1}};
  const auto plain = fit(parameters, observations, longer, {.loss = Loss::gaussian});
  const auto profiled =
      fit(parameters, observations, longer, {.loss = Loss::gaussian, .profile_widths = true});
  const double optimum = std::log(plain.median[0]);
  double mass = 0, second = 0;
  for (double log_x = -5; log_x < 3; log_x += 1e-4) {
    const double r = (std::max(log_x, 0.0) - std::log(1.15)) / 0.1, z = log_x - std::log(1.1);
    const double density = std::exp(-(r * r + z * z) / 2);
    mass += density;
    second += density * std::pow(log_x - optimum, 2);
  }
  CHECK(plain.log_sd[0] < 0.11);
  CHECK(profiled.log_sd[0] == Approx(std::sqrt(second / mass)).epsilon(0.1));
  CHECK(profiled.log_sd[0] > 0.5);
}

// Two rates, of which the slower sets the time. It is half as fast as expected, but which rate is it? Their
// priors are nearly equal, and so are both optima. Around the optimum found, the logarithm of its rate has a
// variance of about 0 there and of log^2 2 + 0.5^2 at the other, where the rate is at its prior again; each
// has weight 1/2.
TEST_CASE("a second optimum that explains the data equally well is not forgotten", "[calibrate]") {
  const auto slower = [](const Values& x) { return Values{1 / std::min(x[0], x[1])}; };
  std::vector<FitParameter> parameters{{"a", 1, 0.5}, {"b", 1.001, 0.5}};
  const std::vector<Observation> observations{{2, 0.02}};
  for (FitParameter& p : parameters) p.alternative = calibrate::Alternative::faster_above;
  const auto plain = fit(parameters, observations, slower, {.loss = Loss::gaussian});
  const auto mixed = fit(parameters, observations, slower, {.loss = Loss::gaussian, .profile_widths = true});
  CHECK(calibrate::verdict(plain.prior_share[0]) == "identified");
  CHECK(mixed.log_sd[0] == Approx(std::sqrt((std::pow(std::log(2), 2) + 0.25) / 2)).epsilon(0.01));
  // 0.60 over 0.5, and half of what the prior had.
  CHECK(calibrate::verdict(mixed.prior_share[0], std::log(mixed.median[0]) / 0.5) == "moved");
}

TEST_CASE("verdicts", "[calibrate]") {
  CHECK(calibrate::verdict(0) == "identified");
  CHECK(calibrate::verdict(0.49) == "identified");
  CHECK(calibrate::verdict(0.5) == "weakly");
  CHECK(calibrate::verdict(0.89) == "weakly");
  CHECK(calibrate::verdict(0.9) == "at prior");
  CHECK(calibrate::verdict(1) == "at prior");
  CHECK(calibrate::verdict(1, -0.099) == "at prior");
  CHECK(calibrate::verdict(1, -0.1) == "moved");
  CHECK(calibrate::verdict(0.4, 3) == "identified");
}

// One parameter x around 1 with spread 1, one bound of 2 with noise 0.1. Below the bound the prior alone counts; a
// prior at 4 is log 2 above it, and the optimum of z^2 + ((log 4 + z - log 2) / 0.1)^2 is z = -log 2 / 1.01.
TEST_CASE("a bound counts only where it is not kept", "[calibrate]") {
  const auto same = [](const Values& x) { return x; };
  const auto kept = fit({{"x", 1, 1}}, {{2, 0.1, true}}, same, {.loss = Loss::gaussian});
  CHECK(kept.converged);
  CHECK(kept.median[0] == Approx(1));
  CHECK(kept.log_sd[0] == Approx(1));
  const auto missed = fit({{"x", 4, 1}}, {{2, 0.1, true}}, same, {.loss = Loss::gaussian});
  CHECK(missed.converged);
  CHECK(std::log(missed.median[0]) == Approx(std::log(4) - std::log(2) / 1.01).epsilon(1e-6));
  CHECK(missed.log_sd[0] == Approx(1 / std::sqrt(101)).epsilon(1e-3));
}
