#include "planner/confidence/recommendation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "io/catalog/recommending.h"
#include "models/uncertainty/mixture.h"
#include "planner/search/candidates.h"
#include "planner/search/search.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using planner::Advisor;
using planner::Plan;
using planner::RecordedRun;
using planner::RecordedRuns;
using planner::RiskAdvisor;
using planner::RiskAttitude;

namespace {

/// A job with all that an advisor needs; one run is known.
struct Setting {
  models::Job job;
  models::Profile profile = test_catalog().profile("trn1");
  planner::RecommendingParameters parameters =
      io::recommending_from(read_document(test_catalog().file("recommending.json")));
  planner::MeasuringTimes times{Seconds(1500), Seconds(300), Seconds(300)};
  RecordedRuns known;

  Setting(const std::string& model, int nodes, int sequence, int batch, const std::string& ran)
      : job(job_of(model, nodes, sequence, batch)) {
    known = RecordedRuns({{"ran", model, job.architecture, job.cluster.instance.name,
                           job.cluster.instance.traits.accelerator, nodes, sequence, strategy_of(job, ran)}},
                         parameters.distance);
  }
  RiskAdvisor advisor(RiskAttitude attitude, double sure = 0.9) const {
    return {job, profile, known, parameters, times, attitude, sure};
  }
  planner::SearchResult search(RiskAttitude attitude, double sure = 0.9) const {
    const RiskAdvisor asked = advisor(attitude, sure);
    return planner::search(job, profile, {.explain = false, .advisor = &asked});
  }
};

double cost(const Plan& p) {
  return 1 / p.report.tokens_per_second;
}

/// Every legal strategy that fits, with the search's cuts and without.
std::vector<Plan> all_plans(const Setting& s) {
  planner::Candidates cluster(s.job, s.profile, false, 0.9, 1);
  std::vector<Plan> plans;
  for (planner::Candidate& c : cluster.all) {
    if (c.feasibility != planner::Feasibility::legal) continue;
    cluster.refine(c);
    plans.push_back(planner::make_plan(s.job, c.strategy, s.profile, cluster.graph()));
    models::Strategy automatic = c.strategy;
    automatic.pipeline_cuts.clear();
    if (automatic == c.strategy) continue;
    if (models::memory_of(s.job, automatic, s.profile).fit_probability < 0.9) continue;
    plans.push_back(planner::make_plan(s.job, automatic, s.profile, cluster.graph()));
  }
  return plans;
}

}  // namespace

// Another machine is 3, the sequence one doubling that nothing tried, 0.5: D = 3.5. Where the profile was transferred
// to the machine its parameters say what is uncertain of it, and 0.5, less than `typical`, adds nothing.
TEST_CASE("a machine that the profile was transferred to is not counted twice", "[planner][risk]") {
  Setting s("llama3-8b", 1, 8192, 64, "tp=32");
  s.job.cluster.instance.name = "another";
  s.job.training.sequence = 4096;
  const models::Strategy strategy = strategy_of(s.job, "tp=32");
  CHECK(s.known.value(s.job, strategy) == Approx(3.5));
  CHECK(s.known.value_on_one_machine(s.job, strategy) == Approx(0.5));
  const double spread = s.profile[models::common::configuration_spread];
  const Advisor::Risk counted = s.advisor(RiskAttitude::neutral).least_risk(s.job, strategy);
  CHECK(counted.log_sd == Approx(spread * std::sqrt(2.5)));
  s.profile.transferred = true;
  const Advisor::Risk left_out = s.advisor(RiskAttitude::neutral).least_risk(s.job, strategy);
  CHECK(left_out.log_sd == 0);
  CHECK(left_out.works == counted.works);
}

// Works with 0.8, off by 0.1: exp(0.16449) / 0.8 = 1.47348. A failed try of 7200 + 1500 + 300 s over a
// billion tokens is 9e-6 s per token: 0.8 x 1e-5 x exp(0.005) + 0.2 x (2e-5 + 9e-6) = 1.384010e-5.
TEST_CASE("what a plan costs after its risk, by hand", "[planner][risk]") {
  Setting s("llama3-8b", 1, 8192, 64, "tp=32");
  s.job.training.tokens = 1e9;
  s.parameters.failed_try = Seconds(7200);
  const RiskAdvisor advisor = s.advisor(RiskAttitude::neutral);
  const Advisor::Risk risk{0.8, 0.1};
  CHECK(advisor.safe_cost(1e-5, risk) == Approx(1.47348e-5).epsilon(1e-5));
  CHECK(advisor.expected_cost(1e-5, risk, 2e-5, 1) == Approx(1.384010e-5).epsilon(1e-5));
  // Without tokens the run is a week: 9000 s of 604,800 more of the fallback.
  s.job.training.tokens = 0;
  CHECK(s.advisor(RiskAttitude::neutral).expected_cost(1e-5, risk, 2e-5, 1) ==
        Approx(0.8e-5 * std::exp(0.005) + 0.2 * 2e-5 * (1 + 9000 / 604800.0)));
  CHECK(advisor.safe_cost(1e-5, {}) == 1e-5);
  CHECK(advisor.expected_cost(1e-5, {}, 2e-5, 1) == 1e-5);
}

TEST_CASE("the averse choice is the least safe cost of all, by brute force", "[planner][risk]") {
  Setting s("llama3-8b", 1, 4096, 64, "tp=32");
  s.job.architecture.layers = 8;
  const RiskAdvisor advisor = s.advisor(RiskAttitude::averse);
  double least = std::numeric_limits<double>::infinity();
  for (const Plan& p : all_plans(s))
    least = std::min(least, advisor.safe_cost(cost(p), advisor.risk(s.job, p.strategy, p.memory)));
  const planner::SearchResult found = s.search(RiskAttitude::averse);
  const Plan& chosen = *found.recommended_plan();
  CHECK(advisor.safe_cost(cost(chosen), advisor.risk(s.job, chosen.strategy, chosen.memory)) ==
        Approx(least).epsilon(1e-12));
}

TEST_CASE("the neutral choice is the safest plan indistinguishable from the best, by brute force",
          "[once][planner][risk]") {
  Setting s("llama3-8b", 1, 4096, 64, "tp=32");
  s.job.architecture.layers = 8;
  s.parameters.alike = GENERATE(0.0, 0.02, 0.3);
  const RiskAdvisor advisor = s.advisor(RiskAttitude::neutral);
  const std::vector<Plan> plans = all_plans(s);
  const auto risk = [&](const Plan& p) { return advisor.risk(s.job, p.strategy, p.memory); };
  const auto safe = [&](const Plan& p) { return advisor.safe_cost(cost(p), risk(p)); };
  const auto least = [&](const auto& key) {
    return *std::min_element(plans.begin(), plans.end(),
                             [&](const Plan& a, const Plan& b) { return key(a) < key(b); });
  };
  const Plan fallback = least(safe);
  const double sd = risk(fallback).log_sd, next = cost(fallback) * std::exp(sd * sd / 2);
  const Plan first = least([&](const Plan& p) { return advisor.expected_cost(cost(p), risk(p), next, 1); });
  const auto expected = [&](const Plan& p) { return advisor.expected_cost(cost(p), risk(p), next, 1); };
  std::vector<const Plan*> eligible;
  double least_safe = std::numeric_limits<double>::infinity();
  for (const Plan& p : plans) {
    const bool costly = expected(p) > (1 + advisor.most_given_up()) * expected(first);
    if (p.strategy != first.strategy && (costly || advisor.is_surely_better(first, p))) continue;
    eligible.push_back(&p);
    least_safe = std::min(least_safe, safe(p));
  }
  const planner::SearchResult found = s.search(RiskAttitude::neutral);
  const Plan& chosen = *found.recommended_plan();
  CHECK(safe(chosen) <= least_safe * (1 + s.parameters.alike) * (1 + 1e-12));
  if (s.parameters.alike == 0) CHECK(safe(chosen) == Approx(least_safe).epsilon(1e-12));
  if (least_safe < safe(first)) {  // else nothing is safer than the best, which is then chosen
    for (const Plan* p : eligible) {
      if (safe(*p) > least_safe * (1 + s.parameters.alike) || p->strategy == chosen.strategy) continue;
      CHECK_FALSE((cost(*p) < cost(chosen) && risk(*p).works >= risk(chosen).works &&
                   expected(*p) <= expected(chosen)));
    }
  }
}

TEST_CASE("the fastest stays proven, and the recommended plan is in the list", "[planner][risk]") {
  const Setting s("llama3-8b", 1, 8192, 1024, "tp=8,recompute=LlamaMLP");
  const planner::SearchResult fastest = s.search(RiskAttitude::fastest),
                              neutral = s.search(RiskAttitude::neutral);
  CHECK(fastest.recommended == 0);
  REQUIRE(neutral.plans.size() >= fastest.plans.size());
  CHECK(neutral.plans.front().strategy == fastest.plans.front().strategy);
  CHECK(neutral.complete);
  for (std::size_t i = 1; i < neutral.plans.size(); ++i)
    CHECK(cost(neutral.plans[i - 1]) <= cost(neutral.plans[i]));
  const Plan& chosen = *neutral.recommended_plan();
  CHECK(chosen.strategy.pipeline_cuts.empty());
  CHECK(chosen.strategy.micro_batch == 1);
  const planner::SpaceCounts& n = neutral.counts;
  CHECK(n.enumerated == n.refused + n.too_large + n.bounded + n.simulated);
}

namespace {

/// Every plan works, and any is surely better than all others.
class Certain final : public Advisor {
 public:
  RiskAttitude attitude() const override { return RiskAttitude::neutral; }
  double most_given_up() const override { return 0.05; }
  double alike() const override { return 0; }
  Risk least_risk(const models::Job&, const models::Strategy&) const override { return {}; }
  Risk risk(const models::Job&, const models::Strategy&, const models::Memory&) const override { return {}; }
  double safe_cost(double cost, const Risk&) const override { return cost; }
  double expected_cost(double cost, const Risk&, double, double) const override { return cost; }
  bool is_surely_better(const Plan&, const Plan&) const override { return true; }
};

}  // namespace

// With probability 0.6 the NICs of 4 nodes have a 50th of their usual rate. Catches a recommendation by the usual state
// alone, a bound that leaves out the plan of the least mean, and steps that are shown as means.
TEST_CASE("the neutral choice is the least mean over the states of the network, by brute force",
          "[planner][risk]") {
  Setting s("llama3-8b", 4, 4096, 64, "tp=32");
  s.job.cluster.instance = gpu_machine();
  s.job.cluster.instance.traits.step_time = true;
  s.job.architecture.layers = 8;
  s.job.pin.micro_batch = s.job.pin.virtual_pipeline = s.job.pin.context_parallel = 1;
  s.job.pin.sequence_parallel = true;
  s.profile = gpu_profile();
  models::Factors all;
  all.slow = models::SlowNetwork{0.6, gigabytes_per_second(100), {gigabytes_per_second(2)}, 1};
  s.profile.factors = std::make_shared<const std::vector<models::Factors>>(std::vector{all});
  const Certain certain;
  const planner::SearchResult found =
      planner::search(s.job, s.profile, {.explain = false, .advisor = &certain});
  const std::vector<Plan> plans = all_plans(s);
  REQUIRE(plans.size() > 20);
  const auto mean = [](const Plan& p) { return models::mean_step(p.report).value / p.global_batch; };
  const auto best = std::min_element(plans.begin(), plans.end(),
                                     [&](const Plan& a, const Plan& b) { return mean(a) < mean(b); });
  const Plan& chosen = *found.recommended_plan();
  REQUIRE(chosen.report.slow);
  CHECK(mean(chosen) == Approx(mean(*best)).epsilon(1e-12));
  CHECK(chosen.report.step ==
        planner::make_plan(s.job, chosen.strategy, s.profile, topology::ChipGraph(s.job.cluster.instance))
            .report.step);
  CHECK(cost(found.plans.front()) < cost(chosen));
}

TEST_CASE("an outlook widens the interval, never the prediction", "[planner][risk]") {
  const Setting s("llama3-8b", 1, 8192, 1024, "tp=32");
  const RiskAdvisor advisor = s.advisor(RiskAttitude::neutral);
  const topology::ChipGraph graph(s.job.cluster.instance);
  Plan plan = planner::make_plan(s.job, strategy_of(s.job, "tp=8,pp=4,mbs=2,cuts=5/14/23"), s.profile, graph);
  const Plan before = plan;
  const planner::Outlook outlook = advisor.outlook(plan, before);
  CHECK(outlook.log_sd > 0);
  CHECK(outlook.works() < 1);
  planner::tell_risk(plan, outlook);
  CHECK(plan.report.step == before.report.step);
  CHECK(plan.report.low < before.report.low);
  CHECK(plan.report.high > before.report.high);
  CHECK(outlook.expected_tokens_per_second < plan.report.tokens_per_second);
}

// Catches: a plan that was seen to run out of memory and is recommended as "fits: 98.6 %", and one that ran four times
// at "91 %".
TEST_CASE("what a plan's own runs showed outweighs what its bytes say", "[planner][risk]") {
  const Setting s("llama3-8b", 1, 8192, 1024, "tp=32");
  const topology::ChipGraph graph(s.job.cluster.instance);
  const Plan plan = planner::make_plan(s.job, strategy_of(s.job, "tp=8,pp=4"), s.profile, graph);
  const auto fits_after = [&](const std::vector<bool>& accepted) {
    std::vector<planner::Observation> seen;
    for (const bool fit : accepted) {
      planner::Observation o;
      o.rule = "memory";
      o.accepted = fit;
      o.instance = s.job.cluster.instance.name;
      o.model = s.job.architecture.name;
      o.strategy = plan.strategy;
      o.sequence = s.job.training.sequence;
      seen.push_back(o);
    }
    const RiskAdvisor advisor(s.job, s.profile, s.known, s.parameters, s.times, RiskAttitude::neutral, 0.9,
                              seen);
    const double fits = advisor.outlook(plan, plan).fits;
    const models::Job on = planner::as_planned(s.job, plan);
    CHECK(advisor.risk(on, plan.strategy, plan.memory).works == Approx(advisor.outlook(plan, plan).works()));
    return fits;
  };
  const double sure = 1 - s.parameters.mistaken, before = std::min(sure, fits_after({})),
               odds = (1 - s.parameters.misleading) / s.parameters.misleading;
  CHECK(before > 0.5);
  CHECK(fits_after({true}) == Approx(before * odds / (before * odds + 1 - before)));
  CHECK(fits_after({false}) == Approx(before / odds / (before / odds + 1 - before)));
  // A run that ends out of memory after some steps is seen to do both.
  CHECK(fits_after({true, false}) == fits_after({false}));
}

// Catches: the same layout with cuts by hand, which needs more than one that ran out of memory, recommended in its
// place as "fits: 99.8 %".
TEST_CASE("a plan that ran out of memory makes others that need as much less likely to fit",
          "[planner][risk]") {
  const Setting s("llama3-8b", 1, 8192, 1024, "tp=32");
  const topology::ChipGraph graph(s.job.cluster.instance);
  const auto plan_of = [&](const char* strategy) {
    return planner::make_plan(s.job, strategy_of(s.job, strategy), s.profile, graph);
  };
  const Plan full = plan_of("tp=8,pp=4"), more = plan_of("tp=8,pp=4,cuts=8/16/23"),
             less = plan_of("tp=8,pp=4,recompute=full"), other = plan_of("tp=32,recompute=full");
  REQUIRE(more.memory.worst().peak() > full.memory.worst().peak());
  REQUIRE(less.memory.worst().peak() < full.memory.worst().peak());
  std::vector<planner::Observation> seen = {planner::memory_of_run(s.job, full.strategy, false)};
  const auto fits = [&](const Plan& plan, const std::vector<planner::Observation>& after) {
    const RiskAdvisor advisor(s.job, s.profile, s.known, s.parameters, s.times, RiskAttitude::neutral, 0.9,
                              after);
    const double probability = advisor.outlook(plan, plan).fits;
    CHECK(advisor.risk(planner::as_planned(s.job, plan), plan.strategy, plan.memory).works ==
          Approx(advisor.outlook(plan, plan).works()));
    return probability;
  };
  CHECK(fits(more, {}) > 0.85);
  CHECK(fits(more, seen) < 0.3);
  CHECK(fits(less, seen) < fits(less, {}));
  CHECK(fits(less, seen) > fits(more, seen));
  CHECK(fits(other, seen) > 0.9);  // 32 x less of everything
  // What it is said to have needed counts: 24 GiB leave less for plans that need a little less.
  seen[0].bytes = 24 * kGiB;
  CHECK(fits(less, seen) < fits(less, {planner::memory_of_run(s.job, full.strategy, false)}));
  // On another machine, of another network, or as a run that fitted it says nothing of these.
  for (const auto& change : std::vector<std::function<void(planner::Observation&)>>{
           [](planner::Observation& o) { o.instance = "trn2.48xlarge"; },
           [](planner::Observation& o) { o.parameters += 1; },
           [](planner::Observation& o) { o.accepted = true; },
           [](planner::Observation& o) { o.strategy.tensor_parallel = 7; },
           [](planner::Observation& o) { o.strategy.micro_batch = 0; }}) {
    planner::Observation changed = planner::memory_of_run(s.job, full.strategy, false);
    change(changed);
    CHECK(fits(more, {changed}) == fits(more, {}));
  }
}
