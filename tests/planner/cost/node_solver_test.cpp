// Nodes that are solved for against brute force over all of them, and the probability that a run is in time
// against simulated runs.
#include "planner/cost/node_solver.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "planner/cost/draws.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/planner/reliability.h"
#include "tests/seeds.h"
#include "units/normal.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

/// The search, with plans that work less often on some numbers of nodes, so that P(N) does not grow steadily.
SearchResult doubtful_search(const models::Job& job, const models::Profile& profile, const SearchOptions& o) {
  SearchResult found = search(job, profile, o);
  for (Plan& p : found.plans) p.works = 1 - 0.04 * (job.cluster.nodes % 3);
  return found;
}

/// Fewest (or most) nodes of the points that keep the limits; 0: none does.
int solved(const WhatIfResult& r, const WhatIfQuestion& q, bool most) {
  int best = 0;
  for (const WhatIfPoint& p : r.points) {
    if (p.keeps(q) && (best == 0 || (p.nodes > best) == most)) best = p.nodes;
  }
  return best;
}

WhatIfQuestion small_question(int most_nodes) {
  WhatIfQuestion q;
  q.instances = {test_catalog().instance("trn1.32xlarge")};
  q.tokens = 1e11;
  q.most_nodes = most_nodes;
  q.sampling.draws = 60;
  return q;
}

}  // namespace

// A number of nodes that is skipped although it does, or one that is taken although it does not.
TEST_CASE("solved nodes equal brute force over all numbers", "[once][planner][whatif]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 10)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<double> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  models::Job job = job_of("llama3-8b", 1, 2048, static_cast<int>(pick({48, 64, 96, 120})));
  job.architecture.layers = static_cast<int>(pick({3, 4, 6}));
  job.pin.sequence_parallel = true;
  job.pin.context_parallel = 1;
  constexpr int kMost = 64;
  WhatIfQuestion q = small_question(kMost), one = q;
  one.nodes = {2};
  const WhatIfPoint alone = whatif(job, one, datasheet(), round_numbers(), doubtful_search).points.at(0);
  REQUIRE(alone.plan);
  q.confidence = pick({0.5, 0.8, 0.9, 0.95});
  const bool by_budget = pick({0, 1, 1}) == 0;
  if (by_budget) {
    q.budget = *alone.run.usd * pick({1.05, 1.3, 2});
  } else {
    q.deadline = alone.run.time * pick({0.1, 0.3, 0.6, 2});
  }
  CAPTURE(seed, *q.confidence, by_budget);
  WhatIfQuestion all = q;
  for (int n = 1; n <= kMost; ++n) all.nodes.push_back(n);
  const WhatIfResult brute = whatif(job, all, datasheet(), round_numbers(), doubtful_search);
  const WhatIfResult mine = whatif(job, q, datasheet(), round_numbers(), doubtful_search);
  CHECK(solved(mine, q, by_budget) == solved(brute, all, by_budget));
  for (const WhatIfPoint& p : mine.points) {
    if (!p.plan) continue;
    const WhatIfPoint& same = brute.points.at(static_cast<std::size_t>(p.nodes) - 1);
    CHECK(p.plan->strategy == same.plan->strategy);
    CHECK(p.run.probability_in_limits() == same.run.probability_in_limits());
  }
}

// Catches "the cheapest" and "the fastest" that are so of the fewest nodes alone, and a cluster that keeps the limits
// and is not found. The list of all powers of two is answered without a solver.
TEST_CASE("the preferred of the solved numbers is that of a list", "[once][planner][whatif]") {
  struct Case {
    const char* model;
    double days;    ///< 0: no deadline
    double budget;  ///< share of the price on the fewest nodes; 0: none
    Preference by;
  };
  const Case asked = GENERATE(
      Case{"llama3-8b", 400, 0, Preference::cheapest}, Case{"llama3-8b", 400, 0, Preference::fastest},
      Case{"llama3-8b", 300, 0.99, Preference::cheapest}, Case{"llama3-8b", 0, 1.2, Preference::fastest},
      Case{"llama3-8b", 0, 0.4, Preference::cheapest}, Case{"llama3-8b", 1, 0, Preference::cheapest},
      Case{"llama2-7b", 400, 0, Preference::smallest});
  CAPTURE(asked.model, asked.days, asked.budget);
  const models::Job job = job_of(asked.model, 1, 8192, 1024);
  WhatIfQuestion q = small_question(64);
  q.tokens = 3e11;
  q.nodes = {1};
  const WhatIfPoint one = whatif(job, q, datasheet(), round_numbers()).points.at(0);
  REQUIRE(one.run.usd);
  q.nodes.clear();
  q.preference = asked.by;
  q.confidence = 0.5;
  if (asked.days > 0) q.deadline = Seconds(asked.days * kDay);
  if (asked.budget > 0) q.budget = asked.budget * *one.run.usd;
  WhatIfQuestion all = q;
  all.nodes = {1, 2, 4, 8, 16, 32, 64};
  const WhatIfResult list = whatif(job, all, datasheet(), round_numbers());
  const WhatIfResult mine = whatif(job, q, datasheet(), round_numbers());
  REQUIRE((mine.recommended < 0) == (list.recommended < 0));
  CAPTURE(mine.reason, list.reason);
  if (mine.recommended >= 0) {
    const WhatIfPoint& best = mine.points.at(static_cast<std::size_t>(mine.recommended));
    const WhatIfPoint& other = list.points.at(static_cast<std::size_t>(list.recommended));
    CHECK_FALSE(preferred(other, best, q));
    return;
  }
  // What comes closest to a limit that all miss: no number of the list does better.
  for (const bool money : {false, true}) {
    const auto least = [&](const WhatIfResult& r) {
      double value = kInfinity;
      for (const WhatIfPoint& p : r.points)
        if (p.plan) value = std::min(value, money ? p.run.usd.value_or(kInfinity) : p.run.time.value);
      return value;
    };
    const double limit = money ? q.budget.value_or(kInfinity) : q.deadline.value_or(Seconds(kInfinity)).value;
    if (least(list) > limit) CHECK(least(mine) <= least(list));
  }
}

// A step of median 8 s with 90 % between 6 and 12, published failures: 4,000 runs, whose steps and reliability are
// drawn, and the forecast that answers. Its log-normal widths are an approximation: 0.02 on top of two standard errors.
TEST_CASE("the probability to be in time agrees with simulated runs", "[planner][whatif]") {
  const Reliability reliability = round_numbers();
  RunShape run;
  run.nodes = 64;
  run.step = Seconds(8);
  run.checkpoint = Bytes(1e11);
  run.work = Seconds(40 * 86400.0);
  const GoodputEstimate goodput = estimate_goodput(reliability, run);
  models::StepReport step;
  step.step = run.step;
  step.low = Seconds(6);
  step.high = Seconds(12);
  step.tokens_per_second = 1e6;
  const double tokens = step.tokens_per_second * run.work.value;
  const RunForecast forecast = forecast_of(step, goodput);
  constexpr int kRuns = 4000;
  std::map<double, int> in_time;
  boost::random::mt19937_64 engine(7);
  Random random(11);
  for (int i = 0; i < kRuns; ++i) {
    const double z = boost::random::normal_distribution<double>()(engine) / kNinetyPercent;
    const double factor = z > 0 ? std::pow(step.high / step.step, z) : std::pow(step.step / step.low, z);
    RunShape drawn = run;
    drawn.step = run.step * factor;
    const FailureModel model = failure_model(drawn_from(reliability, random), drawn);
    const SimulatedRun one =
        simulate_run(model, goodput.interval, run.work * factor, 100 + static_cast<unsigned>(i));
    for (const double days : {42.0, 48.0, 56.0, 66.0})
      in_time[days] += one.wall.value <= days * 86400 ? 1 : 0;
  }
  for (const auto& [days, runs] : in_time) {
    const double share = static_cast<double>(runs) / kRuns;
    const double error = std::sqrt(share * (1 - share) / kRuns);
    CAPTURE(days, share);
    CHECK(forecast.probability(tokens, Seconds(days * 86400)) == Approx(share).margin(2 * error + 0.02));
  }
}

TEST_CASE("numbers that are tried are at most an eighth apart", "[planner][whatif]") {
  const std::vector<int> all = tried_numbers(1875);
  CHECK(all.front() == 1);
  CHECK(all.back() == 1875);
  for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i] - all[i - 1] <= std::max(1, all[i - 1] / 8));
  for (const int n : {704, 1152, 1536}) CHECK(std::count(all.begin(), all.end(), n) == 1);
}

TEST_CASE("deadline and budget are kept together as the tighter of the two", "[planner][whatif]") {
  RunAnswer a;
  a.works = 0.9;
  a.in_time = 0.8;
  a.in_budget = 0.5;
  CHECK(a.probability_in_time() == Approx(0.72));
  CHECK(a.probability_in_budget() == Approx(0.45));
  CHECK(a.probability_in_limits() == Approx(0.45));
}
