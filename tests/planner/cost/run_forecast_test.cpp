// Any two of tokens, time and money determine the third.
#include "planner/cost/run_forecast.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/planner/reliability.h"
#include "units/quantity.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

using P = ReliabilityParameter;

/// 95th and 90th percentile of the standard normal, from a table.
constexpr double z95 = 1.6448536, z90 = 1.2815516;

/// Certain, and hardly a failure: a goodput of 1 to four digits.
Reliability hardly_any() {
  return certain(round_numbers(), {{P::failure_rate, 1e-9},
                                   {P::replacement_share, 1e-9},
                                   {P::manual_share, 1e-9},
                                   {P::storage_throughput, 1e15},
                                   {P::load_ratio, 1e-9}});
}

/// 100,000 tokens/s on 4 nodes; the step is within a half and three times with 90 %.
struct Bed {
  models::Job job = job_of("llama3-8b", 4, 8192, 256);
  Plan plan;
  RunTerms terms;
  Reliability reliability = hardly_any();

  Bed() {
    plan.nodes = 4;
    plan.instance = job.cluster.instance.name;
    plan.strategy = strategy_of(job, "tp=8");
    plan.report.tokens_per_second = 1e5;
    plan.report.step = Seconds(256 * 8192 / 1e5);
    plan.report.low = plan.report.step * 0.5;
    plan.report.high = plan.report.step * 3;
    terms.sampling.draws = 0;
  }
  RunAnswer ask(const RunQuestion& q) const { return answer_run(job, plan, q, terms, reliability); }
};

RunQuestion within(double days) {
  RunQuestion q;
  q.deadline = Seconds(days * kDay);
  return q;
}

}  // namespace

TEST_CASE("tokens of a time, by hand", "[planner][run]") {
  const Bed bed;
  const RunAnswer a = bed.ask(within(30));
  REQUIRE(a.why.empty());
  // 100,000 tokens/s for 30 days are 259.2e9; the step's upper side is a factor 3 at the 95th percentile, so
  // with 90 % it is at most 3^(1.2816 / 1.6449) = 2.353 times as long, and the tokens that part.
  CHECK(a.tokens_50 == Approx(259.2e9).epsilon(1e-3));
  CHECK(a.tokens_90 == Approx(259.2e9 / std::pow(3, z90 / z95)).epsilon(1e-3));
  CHECK(a.tokens_90 == Approx(110.1e9).epsilon(2e-3));
  // 4 nodes of 21.50 USD an hour for 720 hours.
  CHECK(*a.usd == Approx(4 * 21.5 * 720));
  CHECK(a.time.value == 30 * kDay);
  // Whole steps of 256 x 8192 tokens.
  CHECK(std::fmod(a.tokens_50, 256 * 8192) == 0);
  CHECK(std::fmod(a.tokens_90, 256 * 8192) == 0);
}

TEST_CASE("a budget is the time it buys", "[planner][run]") {
  const Bed bed;
  RunQuestion q;
  q.budget = 4 * 21.5 * 720;  // 30 days
  CHECK(bed.ask(q).tokens_50 == bed.ask(within(30)).tokens_50);
  CHECK(*bed.ask(q).usd <= *q.budget);
  q.deadline = Seconds(10 * kDay);  // the nearer end counts
  CHECK(bed.ask(q).tokens_50 == bed.ask(within(10)).tokens_50);
  CHECK(*bed.ask(q).usd == Approx(4 * 21.5 * 240));
}

TEST_CASE("time and money of tokens, by hand", "[planner][run]") {
  const Bed bed;
  RunQuestion q;
  q.tokens = 259.2e9;  // 30 days at the median
  q.deadline = Seconds(30 * kDay);
  q.budget = 4 * 21.5 * 720 * 3;  // of 90 days: three times the median, the 95th percentile
  const RunAnswer a = bed.ask(q);
  CHECK(a.time.value == Approx(30 * kDay).epsilon(1e-3));
  CHECK(a.time_at_90.value == Approx(30 * kDay * std::pow(3, z90 / z95)).epsilon(1e-3));
  CHECK(*a.usd_at_90 / *a.usd == Approx(std::pow(3, z90 / z95)));
  CHECK(a.in_time == Approx(0.5).epsilon(0.01));
  CHECK(a.in_budget == Approx(0.95).epsilon(1e-3));
  CHECK(a.tokens_50 == 0);  // they were not asked for
}

TEST_CASE("what is reached with a probability needs the time with that probability", "[planner][run]") {
  Bed bed;
  SECTION("without failures") {}
  SECTION("with the published ones, sampled") {
    bed.reliability = round_numbers();
    bed.terms.sampling.draws = 400;
  }
  for (const double days : {2.0, 30.0, 200.0}) {
    CAPTURE(days);
    const RunAnswer far = bed.ask(within(days));
    REQUIRE(far.why.empty());
    RunQuestion back = within(days);
    back.tokens = far.tokens_90;
    // Shorter runs have a wider goodput, which is sampled: within one percent of probability.
    CHECK(bed.ask(back).in_time == Approx(0.9).margin(0.01));
    back.tokens = far.tokens_50;
    CHECK(bed.ask(back).in_time == Approx(0.5).margin(0.01));
  }
}

TEST_CASE("more time or money never means fewer tokens, and a higher probability never more",
          "[planner][run]") {
  Bed bed;
  bed.reliability = round_numbers();
  bed.terms.sampling.draws = 50;
  double before_50 = 0;
  for (double days = 0.5; days < 400; days *= 1.7) {
    CAPTURE(days);
    const RunAnswer a = bed.ask(within(days));
    CHECK(a.tokens_50 >= before_50);
    CHECK(a.tokens_90 <= a.tokens_50);
    before_50 = a.tokens_50;
    RunQuestion q;
    q.budget = *a.usd;
    CHECK(bed.ask(q).tokens_50 == Approx(a.tokens_50).epsilon(1e-3));
  }
}

TEST_CASE("where there is no answer it is said why", "[planner][run]") {
  Bed bed;
  CHECK(bed.ask(within(0)).why.find("less than one step") != std::string::npos);
  RunQuestion q;
  q.budget = 1000;
  bed.terms.prices.usd_per_node_hour = 0;
  CHECK(bed.ask(q).why.find("costs nothing") != std::string::npos);
  bed.terms.prices.usd_per_node_hour.reset();
  bed.job.cluster.instance.prices.clear();
  CHECK(bed.ask(q).why.find("price") == 0);
  CHECK(bed.ask(within(30)).tokens_50 > 0);  // a time needs no price
  CHECK_FALSE(bed.ask(within(30)).usd);
  q.tokens = 1e9;
  CHECK(bed.ask(q).in_budget == 0);
  bed.reliability.value(P::failure_rate).median = 1e7;
  CHECK_FALSE(bed.ask(within(30)).why.empty());
}

TEST_CASE("a run on spot nodes counts their interruptions", "[planner][run]") {
  Bed bed;
  bed.reliability = certain(round_numbers(), {{P::spot_interruption, 0.4}});
  const RunAnswer safe = bed.ask({.tokens = 1e11});
  bed.terms.prices.pricing = Pricing::spot;
  const RunAnswer spot = bed.ask({.tokens = 1e11});
  // The same machine with 0.5 failures a node and day; only the wait for another node differs.
  CHECK(spot.goodput.model.mtbf.value == Approx(safe.goodput.model.mtbf.value / 5));
  CHECK(spot.time > safe.time);
}

// Certain steps of t in the usual state and, 40 % likely, 2 t: the run takes at most 1.9 times as long with 60 %, at
// most 2.1 times with 100 %. With log-sd 0.3 in both states the median is x = 1.2728 times as long, not 1: by a table,
// 0.6 Phi(ln x / 0.3) + 0.4 Phi(ln(x / 2) / 0.3) = 0.6 x 0.7893 + 0.4 x 0.0660 = 0.5.
TEST_CASE("the median of a run is that over the states of its network", "[planner][run]") {
  Bed bed;
  models::StepReport& step = bed.plan.report;
  const double tokens = 1e9, alone = tokens / step.tokens_per_second;
  step.low = step.high = step.step;
  step.slow = models::SlowStep{0.4, step.step * 2, 0, 0};
  RunForecast f = bed.ask({.tokens = tokens}).forecast;
  CHECK(f.probability(tokens, Seconds(1.9 * alone)) == Approx(0.6));
  CHECK(f.probability(tokens, Seconds(2.1 * alone)) == Approx(1));
  CHECK(f.time_of(tokens).value == Approx(alone).epsilon(1e-3));
  step.slow = models::SlowStep{0.4, step.step * 2, 0.3, 0.3};
  f = bed.ask({.tokens = tokens}).forecast;
  for (const double p : {0.05, 0.3, 0.5, 0.9, 0.95})
    CHECK(f.probability(tokens, f.time_of(tokens, p)) == Approx(p).margin(1e-9));
  CHECK(f.time_of(tokens).value == Approx(1.2728 * alone).epsilon(1e-3));
}
