#include "planner/cost/goodput.h"
#include "planner/cost/run_spread.h"

#include <cmath>
#include <stdexcept>

#include "io/catalog/reliability.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/planner/reliability.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

using P = ReliabilityParameter;

RunShape run_of(Recovery recovery = Recovery::automatic, bool asynchronous = false) {
  RunShape run;
  run.nodes = 10;
  run.step = Seconds(10);
  run.checkpoint = Bytes(1e11);
  run.work = Seconds(30 * 86400);
  run.recovery = recovery;
  run.asynchronous = asynchronous;
  return run;
}

/// Mean and standard error of f over seeds 1..n.
template <class F>
std::pair<double, double> over_seeds(int n, const F& f) {
  double sum = 0, squares = 0;
  for (int seed = 1; seed <= n; ++seed) {
    const double x = f(static_cast<std::uint64_t>(seed));
    sum += x;
    squares += x * x;
  }
  const double mean = sum / n;
  return {mean, std::sqrt((squares / n - mean * mean) / (n - 1))};
}

const Reliability& shipped_reliability() {
  static const Reliability r = io::reliability_from(read_document(test_catalog().file("reliability.json")));
  return r;
}

}  // namespace

TEST_CASE("what a recovery is made of", "[planner][goodput]") {
  const FailureModel automatic = failure_model(round_numbers(), run_of());
  CHECK(automatic.mtbf.value == Approx(86400));
  CHECK(automatic.stall.value == Approx(100));
  CHECK(automatic.unsafe.value == 0);
  // 100 detection + 200 restart + 2 x 100 load, and 0.5 x 500 and 0.1 x 7200 on average
  CHECK(automatic.recovery.value == Approx(500));
  CHECK(automatic.mean_recovery().value == Approx(500 + 250 + 720));
  const FailureModel manual = failure_model(round_numbers(), run_of(Recovery::manual));
  CHECK(manual.mean_recovery().value == Approx(200 + 200 + 7200));
  const FailureModel background = failure_model(round_numbers(), run_of(Recovery::automatic, true));
  CHECK(background.stall.value == Approx(1));
  CHECK(background.unsafe.value == Approx(100));
}

TEST_CASE("Young's and Daly's intervals", "[planner][goodput]") {
  // delta 5 min, M 24 h = 1440 min: sqrt(2 x 5 x 1440) = 120 min; Daly 120 (1 + sqrt(5/2880)/3 + 5/2880/9) -
  // 5 = 120 x 1.0140820 - 5 = 116.690 min
  const Seconds delta(300), mtbf(86400);
  CHECK(young_interval(delta, mtbf).value == Approx(7200));
  CHECK(daly_interval(delta, mtbf).value == Approx(116.690 * 60).epsilon(1e-5));
  CHECK(daly_interval(3 * mtbf, mtbf) == mtbf);
  FailureModel m;
  m.mtbf = mtbf;
  m.stall = delta;
  CHECK(best_interval(m).value == Approx(daly_interval(delta, mtbf).value).epsilon(1e-3));
  // Nothing around it is better.
  for (const double factor : {0.5, 0.9, 0.99, 1.01, 1.1, 2.0})
    CHECK(goodput(m, best_interval(m)) > goodput(m, factor * best_interval(m)));
}

TEST_CASE("checkpoints are whole steps apart", "[planner][goodput]") {
  const FailureModel m = failure_model(round_numbers(), run_of());
  for (const double step : {1.0, 10.0, 700.0, 5000.0, 1e6}) {
    CAPTURE(step);
    const int steps = best_steps(m, Seconds(step));
    REQUIRE(steps >= 1);
    CHECK(goodput(m, steps * Seconds(step)) >= goodput(m, (steps + 1) * Seconds(step)));
    if (steps > 1) CHECK(goodput(m, steps * Seconds(step)) >= goodput(m, (steps - 1) * Seconds(step)));
  }
  // While a checkpoint is being written (100 s) the next one has to wait.
  const FailureModel background = failure_model(round_numbers(), run_of(Recovery::automatic, true));
  FailureModel quick = background;
  quick.stall = Seconds(1e-6);  // the best interval would be 0.4 s
  CHECK(best_interval(quick).value == Approx(100));
  CHECK(best_steps(quick, Seconds(30)) == 4);
}

TEST_CASE("to first order a run loses recovery, half an interval and the saves", "[planner][goodput]") {
  FailureModel m;
  m.mtbf = Seconds(1e6);
  m.recovery = Seconds(1000);
  m.stall = Seconds(10);
  const Seconds tau(2000);
  // (R + tau/2)/M + delta/tau = 0.002 + 0.005; the terms left out are products of these
  CHECK(1 - goodput(m, tau) == Approx((1000 + 1000) / 1e6 + 10 / 2000.0).epsilon(0.01));
  CHECK(1 - uptime(m) == Approx(1e-3).epsilon(0.01));
}

// The expected wall time of n intervals is exact: failures have no memory, and each interval but the last,
// which needs no save, takes (M/U)(exp((tau+delta)/M) - 1) on average (planner/cost/goodput.h).
TEST_CASE("simulated runs agree with the closed form", "[planner][goodput]") {
  for (const Recovery recovery : {Recovery::automatic, Recovery::manual}) {
    for (const double rate : {0.01, 0.1, 1.0}) {
      CAPTURE(rate);
      Reliability r = round_numbers();
      r.value(P::failure_rate).median = rate;
      const FailureModel m = failure_model(r, run_of(recovery));
      const Seconds tau(1000);
      const int n = 200;
      const auto one = [&](Seconds s) { return m.mtbf.value / uptime(m) * std::expm1(s / m.mtbf); };
      const double expected = (n - 1) * one(tau + m.stall) + one(tau);
      const auto [mean, error] =
          over_seeds(400, [&](std::uint64_t seed) { return simulate_run(m, tau, n * tau, seed).wall.value; });
      CHECK(std::abs(mean - expected) < 3.5 * error);
      CHECK(error < 0.03 * expected);  // else the check above could not fail
    }
  }
}

TEST_CASE("asynchronous checkpoints agree with the closed form over long runs", "[planner][goodput]") {
  Reliability r = round_numbers();
  r.value(P::failure_rate).median = 1;  // M = 2.4 h
  const FailureModel m = failure_model(r, run_of(Recovery::automatic, true));
  const Seconds tau(400), work(100 * 86400);
  const auto [mean, error] =
      over_seeds(50, [&](std::uint64_t seed) { return simulate_run(m, tau, work, seed).goodput; });
  CHECK(std::abs(mean - goodput(m, tau)) < 3.5 * error);
  CHECK(error < 0.01 * mean);
  // Without what is lost while a checkpoint is written it would not agree: exp(-100/8640) is 1.2 % less.
  FailureModel safe = m;
  safe.unsafe = Seconds(0);
  CHECK(std::abs(mean - goodput(safe, tau)) > 3.5 * error);
  const auto [up, up_error] =
      over_seeds(50, [&](std::uint64_t seed) { return simulate_run(m, tau, work, seed).uptime; });
  CHECK(std::abs(up - uptime(m)) < 3.5 * up_error);
}

// What was being written when a failure came is lost, which shows where failures are about as frequent as
// checkpoints: M = 720 s.
TEST_CASE("asynchronous checkpoints under frequent failures", "[planner][goodput]") {
  Reliability r = round_numbers();
  r.value(P::failure_rate).median = 12;
  r.value(P::manual_share).median = 1e-9;
  const FailureModel m = failure_model(r, run_of(Recovery::automatic, true));
  const Seconds tau(400), work(20 * 86400);
  const auto [mean, error] =
      over_seeds(50, [&](std::uint64_t seed) { return simulate_run(m, tau, work, seed).goodput; });
  CHECK(std::abs(mean - goodput(m, tau)) < 3.5 * error);
  CHECK(error < 0.005 * mean);
}

TEST_CASE("intervals shorter than a write agree nearly", "[planner][goodput]") {
  const FailureModel m =
      failure_model(round_numbers(), run_of(Recovery::automatic, true));  // w = 100 s, M = 1 day
  const Seconds tau(20), work(20 * 86400);
  const auto [mean, error] =
      over_seeds(30, [&](std::uint64_t seed) { return simulate_run(m, tau, work, seed).goodput; });
  // One interval in about M / 101 s does not wait: some 0.1 %.
  CHECK(std::abs(mean - goodput(m, tau)) < 3.5 * error + 0.002 * mean);
  CHECK(mean == Approx(20.0 / 101).epsilon(0.05));  // of each 101 s, 20 are work
}

TEST_CASE("a slow write delays the next asynchronous checkpoint", "[planner][goodput]") {
  FailureModel m;
  m.mtbf = Seconds(1e15);  // no failure
  m.unsafe = Seconds(50);
  m.stall = Seconds(1);
  // 4 intervals of 20 s, 3 saves: the first at 20, then safe at 71; work goes on to 41, waits till 71, saves:
  // 72; to 92, waits till 122, saves: 123; 20 more: 143.
  CHECK(simulate_run(m, Seconds(20), Seconds(80), 1).wall.value == Approx(143));
  m.unsafe = Seconds(0);
  CHECK(simulate_run(m, Seconds(20), Seconds(80), 1).wall.value == Approx(83));
}

TEST_CASE("a seed gives one run", "[planner][goodput]") {
  const FailureModel m = failure_model(round_numbers(), run_of());
  const auto wall = [&](std::uint64_t seed) {
    return simulate_run(m, Seconds(1000), Seconds(1e7), seed).wall.value;
  };
  CHECK(wall(1) == wall(1));
  CHECK(wall(1) != wall(2));
}

// Catches: a goodput of 99.75 % with an interval from 100 to 100 %, since a short run has no failure in most draws.
TEST_CASE("goodput is the middle of its draws", "[planner][goodput]") {
  const Reliability r = round_numbers();
  RunShape brief = run_of();
  brief.work = Seconds(600);
  const GoodputEstimate e = estimate_goodput(r, brief);
  CHECK(e.goodput >= e.goodput_90.low);
  CHECK(e.goodput <= e.goodput_90.high);
  CHECK(goodput(e.model, e.interval) < e.goodput_90.low);
  CHECK(estimate_goodput(r, brief, {.draws = 0}).goodput == goodput(e.model, e.interval));
}

TEST_CASE("the interval holds the closed form and grows with what is not known", "[planner][goodput]") {
  Reliability r = round_numbers();
  const GoodputEstimate sure = estimate_goodput(r, run_of());
  CHECK(sure.goodput_90.low < sure.goodput);
  CHECK(sure.goodput < sure.goodput_90.high);
  r.value(P::failure_rate).log_sd = 1;
  const GoodputEstimate unsure = estimate_goodput(r, run_of());
  CHECK(unsure.goodput == Approx(goodput(sure.model, sure.interval)).epsilon(0.01));
  CHECK(unsure.goodput_90.high - unsure.goodput_90.low > 2 * (sure.goodput_90.high - sure.goodput_90.low));
  CHECK(unsure.goodput_90.high < 1);
  CHECK(estimate_goodput(r, run_of()).goodput_90.low == unsure.goodput_90.low);
}

TEST_CASE("hopeless clusters give no progress, not an endless simulation", "[planner][goodput]") {
  Reliability r = round_numbers();
  r.value(P::failure_rate).median = 1e4;  // a failure every 0.9 s, recoveries of 500 s
  const GoodputEstimate e = estimate_goodput(r, run_of());
  CHECK(e.goodput < 1e-6);
  CHECK(std::isfinite(e.goodput));
}

// Catches a wrong moment of recoveries, losses or their numbers. 400 runs give a deviation to 1 / sqrt(800), 3.5 %.
TEST_CASE("simulated runs spread as intervals that are independent", "[planner][goodput]") {
  for (const bool asynchronous : {false, true}) {
    for (const double rate : {0.02, 0.3, 3.0}) {
      CAPTURE(rate, asynchronous);
      Reliability r = round_numbers();
      r.value(P::failure_rate).median = rate;
      const FailureModel m = failure_model(r, run_of(Recovery::automatic, asynchronous));
      const Seconds tau(1000);
      const int n = 2000, runs = 400;
      double sum = 0, squares = 0;
      for (int seed = 1; seed <= runs; ++seed) {
        const double wall = simulate_run(m, tau, n * tau, static_cast<std::uint64_t>(seed)).wall.value;
        sum += wall / runs;
        squares += wall * wall / runs;
      }
      const double spread = std::sqrt(squares - sum * sum) / sum;
      CHECK(spread == Approx(interval_spread(m, tau) / std::sqrt(n)).epsilon(0.12));
    }
  }
}

TEST_CASE("the failure rate behind an uptime", "[planner][goodput]") {
  Reliability r = round_numbers();
  r.value(P::replacement_share).median = 1e-12;
  r.value(P::manual_share).median = 1e-12;
  // Then R is 500 s and U = exp(-500 x nodes x rate / 86400).
  const double rate = implied_failure_rate(0.99, r, run_of());
  CHECK(rate == Approx(-std::log(0.99) / 500 * 86400 / 10).epsilon(1e-6));
  for (const double truth : {0.001, 0.05, 2.0}) {
    r = round_numbers();
    r.value(P::failure_rate).median = truth;
    const double up = uptime(failure_model(r, run_of()));
    CHECK(implied_failure_rate(up, round_numbers(), run_of()) == Approx(truth).epsilon(1e-6));
  }
  CHECK_THROWS_AS(implied_failure_rate(1, r, run_of()), std::invalid_argument);
  CHECK_THROWS_AS(implied_failure_rate(0, r, run_of()), std::invalid_argument);
}

// The values were fixed from other systems; docs/models.md states what came out.
TEST_CASE("the medians follow from what their notes say", "[planner][goodput]") {
  const double hosts = 16384 / 8.0;
  const double rates[] = {419 / 54.0 / hosts, 6.50e-3, 2.34e-3, 24 / 7.5 / (992 / 8.0),
                          1 / 7.0 / (384 / 8.0)};
  double sum = 0, squares = 0;
  for (const double rate : rates) sum += std::log(rate) / 5;
  for (const double rate : rates) squares += std::pow(std::log(rate) - sum, 2) / 4;
  CHECK(shipped_reliability()[P::failure_rate] == Approx(std::exp(sum)).epsilon(0.01));
  CHECK(shipped_reliability().value(P::failure_rate).log_sd == Approx(std::sqrt(squares)).epsilon(0.01));
  CHECK(shipped_reliability()[P::detection] == Approx(600 / std::exp(1.2816 * 0.8)).epsilon(0.01));
  const double opt = 7.5 * 0.41 / 0.59, bloom = std::pow(6 * 7.3 * 11 * 18, 0.25);
  CHECK(shipped_reliability()[P::manual_response] == Approx(3600 * std::sqrt(opt * bloom)).epsilon(0.01));
  CHECK(shipped_reliability()[P::manual_share] == Approx(std::sqrt(3 / 419.0 * 0.1)).epsilon(0.02));
  const double fsx = 200e6 * 1200 / 1024, gpfs = 2.3e12 / 40;
  const double slow = fsx / 16, fast = gpfs / 48;  // a node
  CHECK(shipped_reliability()[P::storage_per_node] == Approx(std::sqrt(slow * fast)).epsilon(0.01));
  CHECK(shipped_reliability().value(P::storage_per_node).log_sd ==
        Approx(std::log(fast / slow) / 2 / 1.645).epsilon(0.01));
  // A third system, not used: 12 bytes of 405.9e9 parameters in 51.06 s from 1120 nodes.
  const double third = 12 * 405.9e9 / 51.06 / 1120;
  CHECK(std::abs(std::log(third / shipped_reliability()[P::storage_per_node])) < 0.5);
  CHECK(shipped_reliability()[P::load_ratio] == Approx(129.49 / 51.06).epsilon(0.01));
  CHECK(shipped_reliability()[P::restart] == Approx(458.6 - 285.6 + 30).epsilon(0.02));
}

// Catches: one rate for clusters of any size, by which 1,024 nodes took 700 years of checkpoints at the interval's end.
TEST_CASE("a file system grows with its cluster unless its rate is stated", "[planner][goodput]") {
  Reliability r = round_numbers();
  CHECK(r.storage(1024).value == 1e9);
  r.value(P::storage_throughput) = {};
  r.value(P::storage_per_node) = {1e8, 0, "test"};
  CHECK(r.storage(1024).value == Approx(1024e8));
  CHECK(r.storage(1).value == r.storage(16).value);
  CHECK(r.storage(16).value == Approx(16e8));
}

// By hand, 10 nodes: 0.1 failures and 0.3 interruptions a node and day are M = 86400 / 4 s. Half of the failures
// and every interruption need another node: (0.1 x 0.5 + 0.3) / 0.4 = 0.875 of the recoveries wait 500 s.
TEST_CASE("spot nodes fail at both rates, in closed form", "[planner][goodput]") {
  Reliability r = certain(round_numbers(), {{P::spot_interruption, 0.3}});
  RunShape run = run_of();
  run.spot = true;
  const FailureModel m = failure_model(r, run);
  CHECK(m.mtbf.value == Approx(21600));
  CHECK(m.replacement_share == Approx(0.875));
  const double up = std::exp(-500.0 / 21600) * (0.125 + 0.875 * std::exp(-500.0 / 21600)) *
                    (0.9 + 0.1 * std::exp(-7200.0 / 21600));
  CHECK(uptime(m) == Approx(up));
  const double tau = 3600;
  CHECK(goodput(m, Seconds(tau)) == Approx(up * (tau / 21600) / std::expm1((tau + 100) / 21600)));
  // A simulation of the same events agrees within four standard errors.
  const auto [mean, error] = over_seeds(
      200, [&](std::uint64_t seed) { return simulate_run(m, Seconds(tau), run.work, seed).goodput; });
  CHECK(std::abs(mean - goodput(m, Seconds(tau))) < 4 * error + 1e-3);
  // Nothing of it touches a run that is not on spot nodes, drawn values included.
  run.spot = false;
  CHECK(failure_model(r, run).mtbf.value == Approx(86400));
  const Reliability& shipped = shipped_reliability();
  Reliability without = shipped;
  without.value(P::spot_interruption) = {};
  CHECK(estimate_goodput(shipped, run).goodput_90.low == estimate_goodput(without, run).goodput_90.low);
  run.spot = true;
  CHECK(estimate_goodput(shipped, run).goodput < estimate_goodput(without, run).goodput);
}

// 18 hosts of 4 GPUs are 9 of eight, 4 of 16 chips are 4; a node of one host is one, however many chips it has.
TEST_CASE("a node fails as often as its hosts do", "[planner][goodput]") {
  const auto hosts = [](const char* type) { return failing_hosts(test_catalog().instance(type)); };
  CHECK(hosts("gb200-nvl72") == 9);
  CHECK(hosts("trn2u-ultraserver") == 4);
  for (const char* one : {"p5.48xlarge", "trn1.32xlarge", "trn1.2xlarge", "trn2.48xlarge"})
    CHECK(hosts(one) == 1);
  // By hand, 10 nodes of 4 hosts: 0.1 failures a host and 0.6 interruptions a node and day are M = 86400 / 10 s, of
  // which the market causes 0.6. Half of the other 0.4 need another node, too.
  Reliability r = certain(round_numbers(), {{P::spot_interruption, 0.6}});
  RunShape run = run_of();
  run.hosts = 4;
  CHECK(failure_model(r, run).mtbf.value == Approx(21600));
  CHECK(failure_model(r, run).interruption_share == 0);
  run.spot = true;
  const FailureModel m = failure_model(r, run);
  CHECK(m.mtbf.value == Approx(8640));
  CHECK(m.interruption_share == Approx(0.6));
  CHECK(m.replacement_share == Approx(0.8));
  CHECK(m.replacement.value == 500);  // of one node
  // A rate that is stated for a node stays that, in every draw, too.
  r.rate_of_node = true;
  CHECK(failure_model(r, run).mtbf.value == Approx(86400 / 7.));
  RunShape single = run;
  single.hosts = 1;
  CHECK(estimate_goodput(r, run).goodput_90.low == estimate_goodput(r, single).goodput_90.low);
  r.rate_of_node = false;
  CHECK(estimate_goodput(r, run).goodput_90.low < estimate_goodput(r, single).goodput_90.low);
}
