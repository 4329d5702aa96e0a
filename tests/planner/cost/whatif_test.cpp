#include "planner/cost/whatif.h"

#include <map>

#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/planner/reliability.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

using P = ReliabilityParameter;

/// Certain, and easy by hand: no load, no person; a failure of any node in 1 / (0.01 x nodes) days.
Reliability easy() {
  return certain(round_numbers(), {{P::failure_rate, 0.01},
                                   {P::replacement_share, 1e-9},
                                   {P::manual_share, 1e-9},
                                   {P::storage_throughput, 1e12},
                                   {P::load_ratio, 1e-9}});
}

models::Job small_job(int nodes = 4) {
  models::Job job = job_of("llama3-8b", nodes, 8192, 256);
  return job;
}

WhatIfQuestion question(std::vector<int> nodes) {
  WhatIfQuestion q;
  q.instances = {test_catalog().instance("trn1.32xlarge")};
  q.nodes = std::move(nodes);
  q.tokens = 1e11;
  q.sampling.draws = 0;  // no sampling: the closed form at the medians
  return q;
}

/// Tokens per second by number of nodes; no plan where there is none.
SearchFunction machine(std::map<int, double> rates, std::vector<models::Job>* asked = nullptr) {
  return [rates = std::move(rates), asked](const models::Job& job, const models::Profile&,
                                           const SearchOptions&) {
    if (asked != nullptr) asked->push_back(job);
    SearchResult result;
    const auto rate = rates.find(job.cluster.nodes);
    if (rate == rates.end()) return result;
    Plan plan;
    plan.nodes = job.cluster.nodes;
    plan.instance = job.cluster.instance.name;
    plan.strategy = strategy_of(job, "tp=8");
    plan.report.tokens_per_second = rate->second;
    plan.report.step = Seconds(static_cast<double>(job.training.global_batch) * 8192 / rate->second);
    plan.report.low = plan.report.step * 0.5;
    plan.report.high = plan.report.step * 3;
    result.plans.push_back(plan);
    return result;
  };
}

WhatIfResult ask(const WhatIfQuestion& q, const SearchFunction& search, models::Job job = small_job()) {
  return whatif(job, q, datasheet(), easy(), search);
}

/// 4 nodes 100,000 tokens/s, 8 nodes 150,000, 16 nodes 200,000: a doubling costs more each time.
const std::map<int, double> slowing{{4, 1e5}, {8, 1.5e5}, {16, 2e5}};

}  // namespace

// Tokens a second and node grow up to 6 nodes, and all tokens up to 32. Fewest nodes that are in time: 1, which was
// said to be the cheapest and the fastest.
TEST_CASE("nodes that are solved for are the cheapest or the fastest", "[planner][whatif]") {
  std::vector<models::Job> asked;
  const SearchFunction search = machine({{1, 1e4},
                                         {2, 2.2e4},
                                         {4, 4.6e4},
                                         {6, 7.2e4},
                                         {8, 8.8e4},
                                         {16, 1.4e5},
                                         {32, 2e5},
                                         {64, 1.8e5},
                                         {128, 1.6e5}},
                                        &asked);
  const auto solve = [&](Preference by, double days, double budget) {
    WhatIfQuestion q = question({});
    q.preference = by;
    q.confidence = 0.5;
    if (days > 0) q.deadline = Seconds(days * kDay);
    if (budget > 0) q.budget = budget;
    asked.clear();
    return ask(q, search);
  };
  const auto best = [](const WhatIfResult& r) {
    return r.recommended < 0 ? 0 : r.points.at(static_cast<std::size_t>(r.recommended)).nodes;
  };
  const WhatIfResult cheapest = solve(Preference::fitting, 200, 0);
  CHECK(best(cheapest) == 6);
  CHECK(cheapest.points.front().nodes == 1);
  CHECK(cheapest.points.front().resolution == 1);
  CHECK(cheapest.reason == "the cheapest of the numbers tried within 200 days with 50 %");
  CHECK(asked.size() < 20);
  CHECK(best(solve(Preference::fastest, 200, 0)) == 32);
  CHECK(best(solve(Preference::smallest, 200, 0)) == 1);
  CHECK(solve(Preference::smallest, 200, 0).reason == "the smallest within 200 days with 50 %");
  // One node costs 59,722 USD, six 49,769: a budget between them is kept, by numbers beyond the fewest in time.
  CHECK(best(solve(Preference::fitting, 200, 52'000)) == 6);
  CHECK(best(solve(Preference::fitting, 0, 52'000)) > 1);
  CHECK(best(solve(Preference::cheapest, 0, 70'000)) == 6);
  const WhatIfResult none = solve(Preference::fitting, 0, 40'000);
  CHECK(none.recommended < 0);
  CHECK(none.reason.find("the cheapest, 6 x trn1.32xlarge, costs") == 0);
  CHECK(solve(Preference::fitting, 3, 0).reason.find("the fastest, 32 x trn1.32xlarge, takes") == 0);
}

TEST_CASE("days and dollars of a point", "[planner][whatif]") {
  const WhatIfResult r = ask(question({4, 8}), machine(slowing));
  REQUIRE(r.points.size() == 2);
  const WhatIfPoint& p = r.points[0];
  CHECK(p.run.goodput.model.mtbf.value == Approx(86400 / 0.04));
  CHECK(p.run.goodput.model.mean_recovery().value == Approx(300));
  CHECK(p.run.goodput.goodput < p.run.goodput.uptime);
  CHECK(p.run.goodput.uptime < 1);
  CHECK(p.run.time.value == Approx(1e11 / 1e5 / p.run.goodput.goodput));
  CHECK(*p.run.usd == Approx(p.run.time.value / 3600 * 4 * 21.5));
  // 12 bytes a parameter; norm weights, which every tensor-parallel rank writes, are 0.02 % more
  CHECK(p.run.checkpoint.value == Approx(12.0 * 8030261248).epsilon(1e-3));
  // Without sampling only the step has an interval: from a half to three times.
  CHECK(p.run.time_90.low == Approx(p.run.time.value / 2));
  CHECK(p.run.time_90.high == Approx(p.run.time.value * 3));
}

TEST_CASE("efficiency against the smallest cluster that has a plan", "[planner][whatif]") {
  const WhatIfResult r = ask(question({2, 4, 8, 16}), machine(slowing));
  CHECK_FALSE(r.points[0].plan);
  CHECK(r.points[1].efficiency == Approx(1));
  CHECK(r.points[2].efficiency == Approx(0.75));  // 150,000 / 8 over 100,000 / 4
  CHECK(r.points[3].efficiency == Approx(0.5));
}

TEST_CASE("what another cluster beats in every way is off the front", "[planner][whatif]") {
  const WhatIfResult r = ask(question({4, 8, 16}), machine({{4, 1e5}, {8, 0.9e5}, {16, 3e5}}));
  CHECK(r.points[0].pareto);
  CHECK_FALSE(r.points[1].pareto);
  CHECK(r.points[2].pareto);
}

TEST_CASE("deadline, budget and preference", "[planner][whatif]") {
  const SearchFunction search = machine(slowing);
  WhatIfQuestion q = question({4, 8, 16});
  const auto nodes = [&] {
    const WhatIfResult r = ask(q, search);
    return r.recommended < 0 ? 0 : r.points[static_cast<std::size_t>(r.recommended)].nodes;
  };
  // 11.6, 7.7 and 5.8 days without failures; 4 nodes are the cheapest, 16 the most expensive.
  CHECK(nodes() == 4);
  q.deadline = Seconds(9 * 86400);
  CHECK(nodes() == 8);
  q.preference = Preference::fastest;
  CHECK(nodes() == 16);
  q.preference = Preference::smallest;
  CHECK(nodes() == 8);
  q = question({4, 8, 16});
  q.budget = 1e6;
  CHECK(nodes() == 16);  // a budget alone: the fastest within it
  q.budget = *ask(q, search).points[1].run.usd;
  CHECK(nodes() == 8);
}

// high = 3 x step: with 90 % the run takes exp(1.2816 / 1.6449 ln 3) = 2.35 times as long: 27.3, 18.2 and 13.6 days.
TEST_CASE("what keeps a deadline with 90 % is named where the recommended does not", "[planner][whatif]") {
  WhatIfQuestion q = question({4, 8, 16});
  const SearchFunction search = machine(slowing);
  q.deadline = Seconds(15 * 86400.0);
  const WhatIfResult r = ask(q, search);
  REQUIRE(r.recommended == 0);
  CHECK_FALSE(r.points[0].keeps_surely(q));
  REQUIRE(r.surer == 2);
  q.deadline = Seconds(30 * 86400.0);
  CHECK(ask(q, search).surer == -1);  // the recommended one does
  q.deadline = Seconds(12 * 86400.0);
  CHECK(ask(q, search).surer == -1);  // none does
}

// The same runs: with 90 % only 16 nodes keep 15 days, in 13.6; with 50 % 4 nodes do.
TEST_CASE("the recommended cluster keeps the limits with the confidence asked for", "[planner][whatif]") {
  WhatIfQuestion q = question({4, 8, 16});
  q.deadline = Seconds(15 * 86400.0);
  q.confidence = 0.9;
  CHECK(ask(q, machine(slowing)).recommended == 2);
  q.confidence = 0.5;
  CHECK(ask(q, machine(slowing)).recommended == 0);
  q.confidence = 0.99;
  const WhatIfResult r = ask(q, machine(slowing));
  CHECK(r.recommended == -1);
  CHECK(r.reason.find("the most likely, 16 x trn1.32xlarge, keeps the limits with 9") == 0);
}

TEST_CASE("a point is the plan that the search recommends", "[planner][whatif]") {
  const SearchFunction fast = machine(slowing);
  const SearchFunction advised = [&](const models::Job& job, const models::Profile& p,
                                     const SearchOptions& o) {
    SearchResult found = fast(job, p, o);
    found.plans.push_back(found.plans.front());
    found.plans.back().report.tokens_per_second /= 2;
    found.plans.back().works = 0.9;
    found.recommended = 1;
    return found;
  };
  const WhatIfQuestion q = question({4});
  const WhatIfResult r = ask(q, advised);
  REQUIRE(r.points.at(0).plan);
  CHECK(r.points[0].plan->report.tokens_per_second ==
        ask(q, fast).points[0].plan->report.tokens_per_second / 2);
  CHECK(r.points[0].run.works == 0.9);
}

TEST_CASE("tokens asked for: the farthest, the cheapest a token, the smallest", "[planner][whatif]") {
  WhatIfQuestion q = question({4, 8, 16});
  q.tokens = 0;
  q.deadline = Seconds(10 * 86400);
  const auto recommended = [&] {
    const WhatIfResult r = ask(q, machine(slowing));
    REQUIRE(r.recommended >= 0);
    return r.points[static_cast<std::size_t>(r.recommended)];
  };
  CHECK(recommended().nodes == 16);  // 200,000 tokens/s for ten days
  CHECK(recommended().run.tokens_50 ==
        Approx(2e5 * 10 * 86400 * recommended().run.goodput.goodput).epsilon(1e-4));
  CHECK(ask(q, machine(slowing)).reason == "the most tokens within 10 days");
  q.preference = Preference::cheapest;
  CHECK(recommended().nodes == 4);  // 25,000 tokens/s a node, against 18,750 and 12,500
  q.preference = Preference::smallest;
  CHECK(recommended().nodes == 4);
  // Of a budget alone the cluster with most tokens a dollar gets farthest.
  q = question({4, 8, 16});
  q.tokens = 0;
  q.budget = 1e5;
  CHECK(recommended().nodes == 4);
  q.budget = 0;
  CHECK(ask(q, machine(slowing)).recommended == -1);
}

TEST_CASE("nothing keeps the limits: it is said why", "[planner][whatif]") {
  const SearchFunction search = machine(slowing);
  WhatIfQuestion q = question({4, 8, 16});
  q.deadline = Seconds(86400);
  WhatIfResult r = ask(q, search);
  CHECK(r.recommended == -1);
  CHECK(r.reason.find("the fastest, 16 x trn1.32xlarge, takes 5.") != std::string::npos);
  q.deadline.reset();
  q.budget = 0;
  r = ask(q, search);
  CHECK(r.recommended == -1);
  CHECK(r.reason.find("the cheapest, 4 x trn1.32xlarge") != std::string::npos);
  q.deadline = Seconds(6.5 * 86400);  // only 16 nodes keep it, only 4 the budget
  q.budget = *r.points[0].run.usd;
  r = ask(q, search);
  CHECK(r.recommended == -1);
  CHECK(r.reason.find("none both") != std::string::npos);
  CHECK(ask(question({2}), search).reason.find("on any of these clusters") != std::string::npos);
}

TEST_CASE("without a recommendation: what would do, and how far the limits reach", "[planner][whatif]") {
  WhatIfQuestion q = question({4, 8});
  q.deadline = Seconds(2 * 86400);
  const SearchFunction search = machine({{4, 1e5}, {8, 1.5e5}, {16, 3e5}, {32, 7e5}, {64, 2e6}});
  WhatIfResult r = ask(q, search);
  CHECK(r.recommended == -1);
  REQUIRE(r.would_do);  // 1e11 tokens take 3.9 days on 16, 1.7 on 32
  CHECK(r.would_do->nodes == 32);
  CHECK(r.would_do->run.time <= *q.deadline);
  // Doubling leads to 32; of those above 16 that have a plan 20 take 2.3 days and 28 take 1.9.
  r = ask(q, machine({{4, 1e5}, {8, 1.5e5}, {16, 3e5}, {20, 5e5}, {28, 6.5e5}, {30, 6.8e5}, {32, 7e5}}));
  REQUIRE(r.would_do);
  CHECK(r.would_do->nodes == 28);
  CHECK(ask(q, search).would_do->nodes == 32);
  REQUIRE(r.reaches);
  CHECK(r.reaches->nodes == 8);
  CHECK(r.reaches->run.tokens_50 == Approx(1.5e5 * 2 * 86400 * r.reaches->run.goodput.goodput).epsilon(1e-4));

  q.deadline.reset();
  q.budget = 100;  // more nodes cost more: none is looked for
  r = ask(q, search);
  CHECK_FALSE(r.would_do);
  REQUIRE(r.reaches);
  CHECK(*r.reaches->run.usd <= 100);

  q.budget.reset();
  r = ask(q, search);
  CHECK(r.recommended == 0);
  CHECK_FALSE(r.would_do);
  CHECK_FALSE(r.reaches);
}

// The clusters that bounds rule out are those that a search of each finds too slow, so that the answer is the same.
TEST_CASE("what would do is found by bounds as by searching every cluster", "[once][planner][whatif]") {
  models::Job job = job_of("llama3-8b", 1, 2048, 64);
  job.architecture.layers = 4;
  WhatIfQuestion q = question({1});
  const double days = whatif(job, q, datasheet(), easy()).points.at(0).run.time.value / 86400;
  int searches = 0, of_all = 0, found = 0;
  const SearchFunction bounded = [&](const models::Job& on, const models::Profile& p,
                                     const SearchOptions& o) {
    SearchResult found = search(on, p, o);
    searches += found.counts.enumerated > 0 ? 1 : 0;
    return found;
  };
  const SearchFunction whole = [&](const models::Job& on, const models::Profile& p, SearchOptions o) {
    o.least_tokens_per_second = 0;
    ++of_all;
    return search(on, p, o);
  };
  for (const double share : {0.6, 0.3, 0.16, 0.01, 1e-4}) {
    CAPTURE(share);
    q.deadline = Seconds(share * days * 86400);
    const WhatIfResult mine = whatif(job, q, datasheet(), easy(), bounded),
                       theirs = whatif(job, q, datasheet(), easy(), whole);
    CHECK(mine.recommended == -1);
    REQUIRE(mine.would_do.has_value() == theirs.would_do.has_value());
    if (!mine.would_do) continue;
    CHECK(mine.would_do->nodes == theirs.would_do->nodes);
    CHECK(mine.would_do->plan->strategy == theirs.would_do->plan->strategy);
    CHECK(mine.would_do->run.time == theirs.would_do->run.time);
    ++found;
  }
  CHECK(found >= 1);
  CHECK(2 * searches < of_all);
  // Likewise where a budget is what a cluster breaks.
  q.deadline.reset();
  q.budget = 1;
  CHECK_FALSE(whatif(job, q, datasheet(), easy(), bounded).would_do);
}

namespace {

/// trn1.32xlarge makes 10^6 tokens a second on 4 nodes, p5.48xlarge twice as many.
SearchResult two_types(const models::Job& job, const models::Profile&, const SearchOptions&) {
  const double rate = job.cluster.instance.name == "p5.48xlarge" ? 2e6 : 1e6;
  return machine({{4, rate}})(job, datasheet(), {});
}

WhatIfQuestion of_two_types(double trn1_usd, double p5_usd) {
  WhatIfQuestion q = question({4});
  q.instances.push_back(test_catalog().instance("p5.48xlarge"));
  q.instances[0].prices = {{"on_demand", trn1_usd, "us-east-1", "2026-07-20", "", "made up"}};
  q.instances[1].prices = {{"on_demand", p5_usd, "us-east-1", "2026-07-20", "", "made up"}};
  return q;
}

}  // namespace

// 10^11 tokens take 10^5 s, 27.78 h, on 4 trn1 and half of that on 4 p5. At 21.50 and 55.04 USD that is 2,389 and 3,058
// USD: trn1. At 40 USD p5 costs 2,222: p5. The prices are even at 2 x 21.50 = 43.
TEST_CASE("the recommended type changes with prices", "[planner][whatif]") {
  const WhatIfResult expensive = ask(of_two_types(21.5, 55.04), two_types);
  REQUIRE(expensive.recommended == 0);
  REQUIRE(expensive.standings.size() == 2);
  CHECK(*expensive.points[0].run.usd == Approx(2389).epsilon(0.01));
  CHECK(*expensive.points[1].run.usd == Approx(3058).epsilon(0.01));
  CHECK(*expensive.standings[1].break_even == Approx(43).epsilon(0.005));
  CHECK(expensive.standings[1].against == "trn1.32xlarge");
  CHECK(*expensive.standings[0].break_even == Approx(55.04 / 2).epsilon(0.005));
  CHECK(expensive.standings[0].cheapest + expensive.standings[1].cheapest == Approx(1));
  CHECK(expensive.standings[0].cheapest > 0.5);
  CHECK(expensive.because.find("Take 4 x trn1.32xlarge, the cheapest: 23.") == 0);
  const WhatIfResult cheap = ask(of_two_types(21.5, 40), two_types);
  CHECK(cheap.recommended == 1);
  CHECK(cheap.standings[1].cheapest > 0.5);
  CHECK(cheap.standings[1].cheapest < expensive.standings[0].cheapest + 0.5);
}

// Within 0.8 days, 69,120 s, only p5 with 5 x 10^4 s is done; within 2 days both are, and the cheaper is taken.
TEST_CASE("the recommended type changes with the deadline", "[planner][whatif]") {
  WhatIfQuestion q = of_two_types(21.5, 55.04);
  q.deadline = Seconds(0.8 * 86400);
  const WhatIfResult soon = ask(q, two_types);
  CHECK(soon.recommended == 1);
  CHECK(soon.because.find("which misses the limits") != std::string::npos);
  CHECK(soon.points[0].run.in_time < 0.5);
  CHECK(soon.points[1].run.in_time > 0.5);
  q.deadline = Seconds(2 * 86400);
  CHECK(ask(q, two_types).recommended == 0);
}

// Nobody sells p5 of that kind: its tokens would be the cheapest below 43 USD a node and hour.
TEST_CASE("a type without a price of the kind has a break-even price", "[planner][whatif]") {
  WhatIfQuestion q = of_two_types(21.5, 55.04);
  q.instances[1].prices.clear();
  const WhatIfResult r = ask(q, two_types);
  CHECK(r.recommended == 0);
  REQUIRE(r.standings.size() == 2);
  CHECK_FALSE(r.standings[1].price);
  CHECK(r.standings[1].cheapest == 0);
  CHECK(*r.standings[1].break_even == Approx(43).epsilon(0.005));
  CHECK_FALSE(r.standings[0].break_even);  // nothing to compare with
}

TEST_CASE("a type without a price of the kind says which prices there are", "[planner][whatif]") {
  topology::Instance type = test_catalog().instance("trn1.32xlarge");
  type.prices = {{"spot", 10, "", "not stated", "", "made up"},
                 {"capacity_block", 30, "us-east-1", "2025-01", "", "made up"},
                 {"capacity_block", 35.76, "us-east-2", "2026-02", "", "made up"}};
  CHECK(why_unpriced(type, Pricing::on_demand) ==
        "no on-demand price; capacity block: 35.76 USD/h (2026-02, us-east-2); spot: 10.00 USD/h (no date, "
        "region "
        "not stated)");
  WhatIfQuestion q = of_two_types(21.5, 55.04);
  q.instances[1].prices = type.prices;
  q.prices.pricing = Pricing::on_demand;
  const WhatIfResult r = ask(q, two_types);
  REQUIRE(r.standings.at(1).others.size() == 2);
  CHECK(r.standings[1].others[0].usd_per_hour == 35.76);
  CHECK(r.standings[0].others.empty());
  type.prices.clear();
  CHECK(why_unpriced(type, Pricing::reserved) == "no reserved price");
}

TEST_CASE("a type whose step is not timed has no points, and that is the reason", "[planner][whatif]") {
  std::vector<models::Job> asked;
  WhatIfQuestion q = question({4, 8});
  q.instances = {test_catalog().instance("trn2.48xlarge")};
  q.instances[0].traits.step_time = false;
  const WhatIfResult r = ask(q, machine(slowing, &asked));
  CHECK(asked.empty());
  CHECK(r.points[0].why.find("not-modelled: the step time of trn2.48xlarge is not modelled") == 0);
  CHECK(r.points[0].fix.find("trnplan instances") != std::string::npos);
  CHECK(r.reason == "the step time of trn2.48xlarge is not modelled");
  CHECK_FALSE(r.would_do);
}

TEST_CASE("without a price the smallest is taken, and no budget can be kept", "[planner][whatif]") {
  WhatIfQuestion q = question({4, 8, 16});
  q.instances[0].prices.clear();
  q.deadline = Seconds(9 * 86400);
  const WhatIfResult r = ask(q, machine(slowing));
  CHECK_FALSE(r.points[0].run.usd);
  CHECK(r.recommended == 1);
  CHECK(r.reason.find("the smallest") == 0);
  q.budget = 1e12;
  CHECK(ask(q, machine(slowing)).reason.find("no price") != std::string::npos);
}

TEST_CASE("strong scaling keeps the batch, weak scaling the batch a node", "[planner][whatif]") {
  std::vector<models::Job> asked;
  WhatIfQuestion q = question({3, 4, 8});
  ask(q, machine(slowing, &asked));
  for (const models::Job& job : asked) CHECK(job.training.global_batch == 256);
  asked.clear();
  q.scaling = Scaling::weak;
  const WhatIfResult r = ask(q, machine({{3, 1e5}, {4, 1e5}, {8, 1e5}}, &asked), small_job(4));
  REQUIRE(asked.size() == 3);
  CHECK(asked[0].training.global_batch == 192);  // 256 x 3 / 4
  CHECK(asked[2].training.global_batch == 512);
  const WhatIfResult odd = ask(q, machine({{3, 1e5}}), small_job(7));
  CHECK_FALSE(odd.points[0].plan);  // 256 x 3 / 7
  CHECK(odd.points[0].why.find("batch") == 0);
}

TEST_CASE("a pinned data-parallel degree is the job's own cluster's", "[planner][whatif]") {
  std::vector<models::Job> asked;
  models::Job job = small_job(4);
  job.pin.data_parallel = 16;
  ask(question({4, 8}), machine(slowing, &asked), job);
  CHECK(asked[0].pin.data_parallel == 16);
  CHECK_FALSE(asked[1].pin.data_parallel);
}

TEST_CASE("the chance of keeping a deadline", "[planner][whatif]") {
  WhatIfQuestion q = question({4});
  const Seconds run = ask(q, machine(slowing)).points[0].run.time;
  const auto chance = [&](double factor) {
    q.deadline = run * factor;
    return ask(q, machine(slowing)).points[0].run.in_time;
  };
  CHECK(chance(1) == Approx(0.5));
  CHECK(chance(3) == Approx(0.95).epsilon(0.001));  // the end of the 90 % interval
  CHECK(chance(0.5) == Approx(0.05).epsilon(0.01));
  CHECK(chance(0) == 0);
}

TEST_CASE("failures that come faster than a checkpoint leave no plan", "[planner][whatif]") {
  Reliability r = easy();
  r.value(P::failure_rate).median = 1e7;
  const WhatIfResult result = whatif(small_job(), question({4}), datasheet(), r, machine(slowing));
  CHECK_FALSE(result.points[0].plan);
  CHECK(result.points[0].why.find("goodput") == 0);
  CHECK(result.recommended == -1);
}

TEST_CASE("with the real search: a model that needs more nodes says so", "[planner][whatif]") {
  const WhatIfResult r = whatif(job_of("llama3-70b", 1, 8192, 1024), question({1, 16}), datasheet(), easy());
  CHECK_FALSE(r.points[0].plan);
  CHECK(r.points[0].why.find("memory: tp=") == 0);
  CHECK(r.points[0].too_large);  // reasons that differ in the closest layout alone are said once
  CHECK_FALSE(r.points[1].too_large);
  CHECK(r.points[0].nodes_that_would_do > 1);
  REQUIRE(r.points[1].plan);
  CHECK(r.points[1].run.goodput.every_steps >= 1);
  CHECK(r.points[1].run.goodput.interval.value ==
        Approx(r.points[1].run.goodput.every_steps * r.points[1].plan->report.step.value));
}

// Published: 482 GB a node for Llama-2 70B on 32 nodes; fewer nodes hold more of the checkpoint each.
TEST_CASE("asynchronous checkpoints that a node's host cannot hold are remarked", "[planner][whatif]") {
  WhatIfQuestion q = question({2, 32});
  models::Job job = job_of("llama2-70b", 32, 4096, 1024);
  const SearchFunction search = machine({{2, 1e5}, {32, 1e5}});
  CHECK(whatif(job, q, datasheet(), easy(), search).points[0].remark.empty());
  q.asynchronous = true;
  const WhatIfResult r = whatif(job, q, datasheet(), easy(), search);
  CHECK(r.points[0].remark.find("GiB on the host") != std::string::npos);
  CHECK(r.points[1].remark.empty());
}
