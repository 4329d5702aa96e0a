#include "calibrate/fit/site_fit.h"

#include <cmath>
#include <string>
#include <vector>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>

#include "models/parameters/common_parameters.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/sanitised.h"

using namespace trnplan;
using calibrate::SiteFit;
using calibrate::SiteRun;
using models::Profile;

namespace {

models::Job job_at_site(const std::string& instance = "trn1.32xlarge", const std::string& stack = "nxdt") {
  models::Job job = job_of("llama2-7b", 4, 4096, 256);
  job.cluster.instance = test_catalog().instance(instance);
  job.software = {stack, "2.23"};
  return job;
}

/// The step and its interval.
models::StepReport step_of(const models::Job& job, const std::string& strategy, const Profile& profile) {
  const topology::ChipGraph graph(job.cluster.instance);
  return models::StepModel(job, strategy_of(job, strategy), profile, graph).simulate();
}

SiteRun run_of(const models::Job& job, const std::string& strategy, double seconds, double log_sd = 0) {
  return {"log", job, strategy_of(job, strategy), std::log(seconds), log_sd};
}

/// The data sheet's profile, of which every time is certain.
Profile certain() {
  Profile profile = datasheet();
  for (const models::Parameter p : profile.schema->parameters()) profile.value(p).log_sd = 0;
  profile.value(models::common::configuration_spread).median = 0.08;
  profile.value(models::common::repeat_spread).median = 0.05;
  profile.value(models::common::site_spread).median = 0.3;
  return profile;
}

}  // namespace

// Catches a noise counted twice, or a factor that only its own layout has. With site s, layout c and
// repetition r the Gaussian posterior of the logarithm of the site is s^2 / (s^2 + c^2 + r^2) of what was
// seen, and that of the layout's step (s^2 + c^2) / (s^2 + c^2 + r^2).
TEST_CASE("one run moves its layout and, with the site, its neighbours", "[calibrate]") {
  const models::Job job = job_at_site();
  const double before = step_of(job, "tp=8", certain()).step.value, seen = std::log(1.27);
  const SiteFit fit = calibrate::fit_site({run_of(job, "tp=8", before * 1.27)}, certain());
  CHECK(fit.converged);
  const double s = 0.09, c = 0.0064, r = 0.0025, all = s + c + r;
  CHECK(std::log(fit.rows[0].after / before) == Approx(seen * (s + c) / all).epsilon(1e-6));
  const models::StepReport other = step_of(job, "tp=32", fit.profile);
  const double neighbour = step_of(job, "tp=32", certain()).step.value;
  CHECK(std::log(other.step.value / neighbour) == Approx(seen * s / all).epsilon(1e-6));
  // What is left: of the layout (s + c) r / all and a repetition; of the neighbour s (c + r) / all, its own
  // error and a repetition.
  CHECK(std::log(fit.rows[0].after_high / fit.rows[0].after) ==
        Approx(1.644854 * std::sqrt((s + c) * r / all + r)).epsilon(1e-4));
  CHECK(std::log(other.high.value / other.step.value) ==
        Approx(1.644854 * std::sqrt(s * (c + r) / all + c + r)).epsilon(1e-4));
  // Of the stack on another machine half is known; another stack there is as before.
  const auto moved = [&](const char* stack) {
    const models::Job elsewhere = job_at_site("trn1n.32xlarge", stack);
    return std::log(step_of(elsewhere, "tp=8", fit.profile).step /
                    step_of(elsewhere, "tp=8", certain()).step);
  };
  CHECK(moved("nxdt") == Approx(seen * s / all / 2).epsilon(1e-6));
  CHECK(moved("nxd") == 0);
}

// Catches a stack that was not measured, predicted as if nothing had been seen of its machine: plan then took
// it for the one that was seen to be slow. With f the site's factor, half of log f is the machine's, give or
// take log f / sqrt(12); of the factor's own variance s (c + r) / all a quarter counts.
TEST_CASE("another stack on the machine is half as much slower, and less sure", "[calibrate]") {
  const models::Job job = job_at_site(), other = job_at_site("trn1.32xlarge", "nxd");
  const double before = step_of(job, "tp=8", certain()).step.value;
  const double s = 0.09, c = 0.0064, r = 0.0025, all = s + c + r;
  for (const double slow : {2.0, 1.27, 1.0}) {
    CAPTURE(slow);
    const SiteFit fit = calibrate::fit_site({run_of(job, "tp=8", before * slow)}, certain());
    const double site = std::log(slow) * s / all;
    const models::StepReport borrowed = step_of(other, "tp=8", fit.profile);
    const double unseen = step_of(other, "tp=8", certain()).step.value;
    CHECK(std::log(borrowed.step.value / unseen) == Approx(site / 2).epsilon(1e-6).margin(1e-9));
    CHECK(std::log(borrowed.high.value / borrowed.step.value) ==
          Approx(1.644854 * std::sqrt(c + site * site / 12 + s * (c + r) / all / 4)).epsilon(1e-4));
  }
}

// Catches n stacks counted as one, and a run that borrows from others though its own site is fitted with it.
// Of two stacks 2/3 of the mean logarithm is the machine's, give or take the root of the mean square / 18.
TEST_CASE("a third stack borrows from both that were measured", "[calibrate]") {
  const models::Job a = job_at_site(), b = job_at_site("trn1.32xlarge", "nemo-megatron"),
                    other = job_at_site("trn1.32xlarge", "nxd");
  const SiteRun of_a = run_of(a, "tp=8", 1.5 * step_of(a, "tp=8", certain()).step.value),
                of_b = run_of(b, "tp=8", 1.2 * step_of(b, "tp=8", certain()).step.value);
  const SiteFit fit = calibrate::fit_site({of_a, of_b}, certain());
  const double s = 0.09, c = 0.0064, r = 0.0025, all = s + c + r;
  const double mean = (std::log(1.5) + std::log(1.2)) / 2 * s / all,
               squares = (std::pow(std::log(1.5), 2) + std::pow(std::log(1.2), 2)) / 2 * std::pow(s / all, 2);
  const models::StepReport borrowed = step_of(other, "tp=8", fit.profile);
  CHECK(std::log(borrowed.step.value / step_of(other, "tp=8", certain()).step.value) ==
        Approx(2 * mean / 3).epsilon(1e-6));
  CHECK(std::log(borrowed.high.value / borrowed.step.value) ==
        Approx(1.644854 * std::sqrt(c + squares / 18 + 2 * s * (c + r) / all / 9)).epsilon(1e-4));
  CHECK(std::log(fit.rows[1].after / std::exp(of_b.log_seconds)) ==
        Approx(-std::log(1.2) * r / all).epsilon(1e-6));
  const Profile by_one = calibrate::fit_site({of_b}, calibrate::fit_site({of_a}, certain()).profile).profile;
  CHECK(step_of(b, "tp=32", by_one).high.value ==
        Approx(step_of(b, "tp=32", fit.profile).high.value).epsilon(1e-6));
}

// Catches an update that forgets what the one before taught: runs one after the other are runs together.
TEST_CASE("runs that are learnt one by one are runs that are learnt at once", "[calibrate]") {
  const models::Job job = job_at_site();
  const SiteRun a = run_of(job, "tp=8", 1.3 * step_of(job, "tp=8", certain()).step.value, 0.02),
                b = run_of(job, "tp=32", 1.1 * step_of(job, "tp=32", certain()).step.value, 0.01);
  const SiteFit together = calibrate::fit_site({a, b}, certain());
  const Profile by_one = calibrate::fit_site({b}, calibrate::fit_site({a}, certain()).profile).profile;
  for (const char* strategy : {"tp=8", "tp=32", "tp=8,pp=2"}) {
    const models::StepReport x = step_of(job, strategy, together.profile), y = step_of(job, strategy, by_one);
    CHECK(x.step.value == Approx(y.step.value).epsilon(1e-6));
    CHECK(x.high.value == Approx(y.high.value).epsilon(1e-6));
  }
  CHECK(models::is_covariance(together.profile.calibration->covariance));
}

// Catches a site that its log does not explain: the layout within the jitter of its steps, every neighbour
// within 5 %, the truth inside the interval.
TEST_CASE("a simulated site is found by one log", "[calibrate]") {
  const models::Job job = job_at_site();
  boost::random::mt19937 random(35);
  for (int i = 0; i < (kSanitised ? 2 : 8); ++i) {
    const double factor = 0.7 * std::pow(1.5 / 0.7, i / 7.0), jitter = 0.01 + 0.04 * i / 7;
    const auto truth = [&](const char* s) { return factor * step_of(job, s, datasheet()).step.value; };
    const double mean = boost::random::normal_distribution<double>(0, jitter / 10)(random);  // of 100 steps
    const SiteFit fit = calibrate::fit_site(
        {run_of(job, "tp=8", truth("tp=8") * std::exp(mean), calibrate::spread_of_median(jitter, 100))},
        datasheet());
    CHECK(std::abs(fit.rows[0].after / truth("tp=8") - 1) < std::max(jitter, 0.015));
    for (const char* neighbour : {"tp=32", "tp=8,pp=2"}) {
      const models::StepReport r = step_of(job, neighbour, fit.profile);
      CAPTURE(factor, neighbour);
      CHECK(std::abs(r.step.value / truth(neighbour) - 1) < 0.05);
      CHECK(r.low.value < truth(neighbour));
      CHECK(truth(neighbour) < r.high.value);
    }
  }
}

// Catches a layout that contradicts its site and passes in silence.
TEST_CASE("a run that does not agree with the rest of its site misses much", "[calibrate]") {
  const models::Job job = job_at_site();
  const auto at = [&](const char* s, double factor) {
    return run_of(job, s, factor * step_of(job, s, certain()).step.value);
  };
  const SiteFit fit = calibrate::fit_site({at("tp=8", 1.1), at("tp=32", 1.1), at("tp=8,pp=2", 2)}, certain());
  CHECK(std::abs(fit.rows[0].misses) < 2);
  CHECK(fit.rows[2].misses > 2);
}
