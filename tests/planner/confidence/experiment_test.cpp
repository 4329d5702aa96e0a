#include "planner/confidence/experiment.h"

#include <algorithm>
#include <cmath>

#include "models/collective/neuron_parameters.h"
#include "models/framework/loop_parameters.h"
#include "models/uncertainty/compare.h"
#include "planner/plan/plan.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using models::Parameter;
using planner::Experiment;
using planner::Plan;

namespace {

/// Unknown: two parameters with log-sd 0.2 and 0.5, configurations with 0.03, a stack with 0.1, a run with
/// 0.04.
models::Profile experiment_profile() {
  models::Profile p = datasheet();
  for (models::Value& v : p.values) v.log_sd = 0;
  p.value(models::loop::task_launch).log_sd = 0.2;
  p.value(models::loop::graph_launch).log_sd = 0.5;
  p.value(models::common::configuration_spread).median = 0.03;
  p.value(models::common::stack_spread).median = 0.1;
  p.value(models::common::repeat_spread).median = 0.04;
  return p;
}

/// A step with a share that scales with one parameter.
Plan plan_of(double seconds, Parameter p, double share) {
  Plan plan;
  plan.report.schema = datasheet().schema;
  plan.report.step = Seconds(seconds);
  plan.report.by_parameter[p.place()] = Seconds(share * seconds);
  plan.nodes = 2;
  plan.global_batch = 64;
  plan.usd_per_hour = 10;
  return plan;
}
/// d log / d log theta: 0.5 of task_launch, 0.2 of graph_launch.
Plan first(double seconds = 100) {
  return plan_of(seconds, models::loop::task_launch, 0.5);
}
Plan second(double seconds = 100) {
  return plan_of(seconds, models::loop::graph_launch, 0.2);
}

planner::ConfidenceOptions options() {
  planner::ConfidenceOptions o;
  o.times = {Seconds(1000), Seconds(200), Seconds(300)};
  return o;
}

planner::Comparison compare(const std::vector<Plan>& plans, const models::Profile& profile,
                            const planner::ConfidenceOptions& o = options()) {
  const planner::Confidence c = planner::confidence_of(models::Job{}, plans, nullptr, profile, o);
  REQUIRE(c.comparison);
  return *c.comparison;
}

const Experiment* find(const planner::Comparison& c, int of_first, int of_second) {
  for (const Experiment& m : c.considered) {
    if (m.tables.empty() && m.runs_of_first == of_first && m.runs_of_second == of_second) return &m;
  }
  return nullptr;
}

/// Two layouts on two nodes, which differ in what they ask of the links, and a profile that doubts only
/// these.
struct Layouts {
  models::Job job = job_of("llama3-8b", 2, 4096, 128);
  models::Profile profile = datasheet();
  std::vector<Plan> plans;
  planner::ConfidenceOptions options = ::options();

  Layouts() {
    for (models::Value& v : profile.values) v.log_sd = 0;
    profile.value(models::neuron::link_fraction) = {0.3, 2, "test"};
    profile.value(models::common::configuration_spread).median = 1e-4;
    const topology::ChipGraph graph(job.cluster.instance);
    for (const char* s : {"tp=4,recompute=full", "tp=8,recompute=full"})
      plans.push_back(planner::make_plan(job, strategy_of(job, s), profile, graph));
    if (plans[1].report.step < plans[0].report.step) std::swap(plans[0], plans[1]);
    options.sure = 0.9999;
    options.tables = {
        {models::neuron::link_fraction, models::neuron::efa_fraction, models::common::host_launch},
        0.1,
        0.0,
        2.0,
        "trn1.32xlarge"};
  }
  planner::Comparison compare() const {
    return *planner::confidence_of(job, plans, nullptr, profile, options).comparison;
  }
};

std::size_t tables(const planner::Comparison& c) {
  return static_cast<std::size_t>(std::count_if(c.considered.begin(), c.considered.end(),
                                                [](const Experiment& m) { return !m.tables.empty(); }));
}

}  // namespace

// Equal steps. The difference of their logarithms has 0.5^2 0.2^2 + 0.2^2 0.5^2 + 2 x 0.03^2 = 0.0218; the
// stack cancels. A run of each sees it with 2 x 0.04^2 = 0.0032: rho^2 = 0.0218 / 0.0250, and 1/2 +
// asin(0.93381) / pi = 0.88351. A run of the first sees 0.01 + 0.0009 of its own, 0.01 of the stack, 0.0016
// of noise, together 0.0225; it shares 0.0109 with the difference: rho^2 = 0.0109^2 / 0.0225 / 0.0218 =
// 0.24222, asin(0.49216) = 0.51457: 0.66379.
TEST_CASE("short runs of two plans, by hand", "[planner][measurement]") {
  const planner::Comparison c = compare({first(), second()}, experiment_profile());
  CHECK(c.probability == 0.5);
  CHECK_FALSE(c.told_apart);
  CHECK_FALSE(c.equal);
  const Experiment* both = find(c, 1, 1);
  const Experiment* one = find(c, 1, 0);
  REQUIRE(both != nullptr);
  REQUIRE(one != nullptr);
  CHECK(both->probability == Approx(0.88351).epsilon(1e-4));
  CHECK(one->probability == Approx(0.66379).epsilon(1e-4));
  // t^2 = 0.0218^2 / 0.025 = 0.0190096; its root over sqrt(2 pi) is 0.055005.
  CHECK(both->gain == Approx(0.055005).epsilon(1e-4));
  // 1000 s to compile, 200 s to start and eleven steps of 100 s, on two nodes of 5 USD an hour: 2300 s.
  CHECK(one->node_hours == Approx(2 * 2300 / 3600.0));
  CHECK(one->usd == Approx(5 * 2 * 2300 / 3600.0));
  CHECK(both->node_hours == Approx(2 * one->node_hours));
  CHECK(both->threshold == Approx(1));   // of equal guesses the shorter one
  CHECK(one->threshold == Approx(100));  // s
  // Two of each: 0.0016 in place of 0.0032, rho^2 = 0.0218 / 0.0234, asin(0.96521) = 1.30625: 0.91579, the
  // cheapest that makes 90 %. Graphs are compiled once: 2 x (1000 + 2 x 1300) s.
  REQUIRE(c.best);
  CHECK(c.decides);
  CHECK(c.best->runs_of_first == 2);
  CHECK(c.best->runs_of_second == 2);
  CHECK(c.best->probability == Approx(0.91579).epsilon(1e-4));
  CHECK(c.best->node_hours == Approx(2 * 2 * 3600 / 3600.0));
}

// The second is 5 % slower: log 0.05. What is seen of both moves the mean with 0.0218 / 0.025 = 0.872, which
// changes sign at 0.05 - 0.05 / 0.872 = -0.007339, a ratio of 0.99269.
TEST_CASE("when a measurement overturns the ranking", "[planner][measurement]") {
  const planner::Comparison c = compare({first(), second(100 * std::exp(0.05))}, experiment_profile());
  CHECK(c.probability == Approx(models::LogRatio{0.05, std::sqrt(0.0218)}.positive()));
  CHECK(find(c, 1, 1)->threshold == Approx(0.99269).epsilon(1e-5));
  // Of the first alone: slope -0.0109 / 0.0225, so it must be above 100 exp(0.05 / 0.48444) s.
  CHECK(find(c, 1, 0)->threshold == Approx(100 * std::exp(0.05 / 0.484444)).epsilon(1e-5));
  CHECK(find(c, 1, 0)->above);
  CHECK(find(c, 0, 1)->threshold < 100 * std::exp(0.05));
  CHECK_FALSE(find(c, 0, 1)->above);
  CHECK_FALSE(find(c, 1, 1)->above);
}

// Both scale with task_launch, the second four times as much: a fast first says the second is faster still.
// The difference shares 0.2 (0.8 - 0.2) 0.04 - 0.0009 = 0.0039 with the first, whose run sees 0.04 x 0.04 +
// 0.0009 + 0.01 + 0.0016 = 0.0141: below 100 exp(-0.05 x 0.0141 / 0.0039) s the second is the better guess.
TEST_CASE("a measurement of one may speak of the other", "[planner][measurement]") {
  const std::vector<Plan> plans = {plan_of(100, models::loop::task_launch, 0.2),
                                   plan_of(100 * std::exp(0.05), models::loop::task_launch, 0.8)};
  const planner::Comparison c = compare(plans, experiment_profile());
  REQUIRE(find(c, 1, 0) != nullptr);
  CHECK_FALSE(find(c, 1, 0)->above);
  CHECK(find(c, 1, 0)->threshold == Approx(100 * std::exp(-0.05 * 0.0141 / 0.0039)).epsilon(1e-5));
}

TEST_CASE("names of the two do not matter", "[planner][measurement]") {
  const Plan a = first(), b = second(103);
  const planner::Comparison ab = compare({a, b}, experiment_profile()),
                            ba = compare({b, a}, experiment_profile());
  CHECK(ab.probability + ba.probability == Approx(1));
  REQUIRE(ab.considered.size() == ba.considered.size());
  CHECK(find(ab, 1, 1)->probability == Approx(find(ba, 1, 1)->probability));
  CHECK(find(ab, 2, 0)->probability == Approx(find(ba, 0, 2)->probability));
  CHECK(find(ab, 1, 1)->threshold == Approx(1 / find(ba, 1, 1)->threshold));
}

TEST_CASE("more runs tell more, and exact ones all", "[planner][measurement]") {
  models::Profile profile = experiment_profile();
  const std::vector<Plan> plans = {first(), second(101)};
  const planner::Comparison c = compare(plans, profile);
  double before = c.probability;
  for (int n = 1; n <= 6; ++n) {
    REQUIRE(find(c, n, n) != nullptr);
    CHECK(find(c, n, n)->probability > before);
    before = find(c, n, n)->probability;
  }
  profile.value(models::common::repeat_spread).median = 1e-9;
  CHECK(find(compare(plans, profile), 1, 1)->probability == Approx(1).margin(1e-6));
  profile.value(models::common::repeat_spread).median = 1e3;
  const planner::Comparison hopeless = compare(plans, profile);
  CHECK(hopeless.considered.empty());
  CHECK_FALSE(hopeless.best);
}

TEST_CASE("what needs no measurement gets none", "[planner][measurement]") {
  const planner::Comparison same = compare({first(), first()}, experiment_profile());
  CHECK(same.probability == 0.5);
  CHECK(same.equal);
  CHECK_FALSE(same.best);
  const planner::Comparison far = compare({first(), second(200)}, experiment_profile());
  CHECK(far.told_apart);
  CHECK(far.probability > 0.99);
  CHECK_FALSE(far.best);
  CHECK_FALSE(planner::confidence_of({}, {first()}, nullptr, experiment_profile(), options()).comparison);
  CHECK(planner::confidence_of({}, {}, nullptr, experiment_profile(), options()).first_is_better.empty());
}

TEST_CASE("without one that decides, the cheapest of those about as good", "[planner][measurement]") {
  planner::ConfidenceOptions o = options();
  o.sure = 0.99;
  const planner::Comparison c = compare({first(), second()}, experiment_profile(), o);
  REQUIRE(c.best);
  CHECK_FALSE(c.decides);
  CHECK(c.best->probability < 0.99);
  for (const Experiment& m : c.considered) {
    CHECK(m.probability <= c.best->probability + 0.01);
    if (m.node_hours < c.best->node_hours) CHECK(m.probability < c.best->probability);
  }
  CHECK(std::is_sorted(c.considered.begin(), c.considered.end(),
                       [](const Experiment& x, const Experiment& y) { return x.node_hours < y.node_hours; }));
}

TEST_CASE("better is what the job wants: a token's time, its price, fewer nodes", "[planner][measurement]") {
  models::Job job;
  std::vector<Plan> plans = {first(), second()};
  const auto better = [&] {
    return planner::confidence_of(job, plans, nullptr, experiment_profile(), options()).first_is_better[0];
  };
  CHECK(*better() == 0.5);
  plans[1].global_batch = 32;  // half the tokens in the same time: log 2 over sqrt(0.0218)
  CHECK(*better() > 0.9999);
  plans[1].report.step = plans[1].report.step / 2;
  for (Seconds& s : plans[1].report.by_parameter) s = s / 2;
  CHECK(*better() == 0.5);
  plans[1].usd_per_hour = 11;
  CHECK(*better() == 0.5);
  job.objective = models::Objective::cost;  // 10 % more expensive: Phi(log 1.1 / 0.14765) = Phi(0.64553)
  CHECK(*better() == Approx(0.74071).epsilon(1e-4));
  job.objective = models::Objective::deadline;
  plans[1].nodes = 4;
  CHECK_FALSE(better());
  CHECK_FALSE(planner::confidence_of(job, plans, nullptr, experiment_profile(), options()).comparison);
}

TEST_CASE("what a measurement is worth", "[planner][measurement]") {
  Plan a = first();
  CHECK(find(compare({a, second()}, experiment_profile()), 1, 1)->gain_usd == 0);
  a.run = Seconds(1000 * 3600.0);  // a thousand hours of 10 USD, of which 5.5005 % can be saved on average
  CHECK(find(compare({a, second()}, experiment_profile()), 1, 1)->gain_usd == Approx(550.05).epsilon(1e-4));
}

TEST_CASE("the winner against what runs today", "[planner][measurement]") {
  const Plan today = second(110);
  const planner::Confidence c =
      planner::confidence_of({}, {first()}, &today, experiment_profile(), options());
  // Phi(log 1.1 / sqrt(0.0218)), as above.
  CHECK(*c.beats_baseline == Approx(0.74071).epsilon(1e-4));
  CHECK_FALSE(planner::confidence_of({}, {first()}, nullptr, experiment_profile(), options()).beats_baseline);
}

TEST_CASE("a table of nccom-test where the links are the doubt", "[planner][measurement]") {
  Layouts layouts;
  const planner::Comparison c = layouts.compare();
  REQUIRE(tables(c) > 1);
  REQUIRE(c.best);
  CHECK_FALSE(c.best->tables.empty());  // minutes on one node against a compilation on two
  const Experiment& m = *c.best;
  REQUIRE(m.tables.size() == 1);
  CHECK(m.threshold == 0);
  CHECK(m.node_hours == Approx(m.tables[0].nodes * 300 / 3600.0));
  const auto command = planner::nccom_command(m.tables[0]);
  CHECK(command.front() == "nccom-test");
  CHECK(command[2] == std::to_string(m.tables[0].ranks));
  CHECK(command[4] == std::to_string(m.tables[0].nodes));
  // Groups that span the nodes are measured on both.
  const auto spans = [](const Experiment& x) { return x.tables.size() == 1 && x.tables[0].nodes == 2; };
  layouts.profile.value(models::neuron::efa_fraction).log_sd = 2;
  const planner::Comparison wide = layouts.compare();
  CHECK(std::any_of(wide.considered.begin(), wide.considered.end(), spans));
}

TEST_CASE("a table of what no plan depends on brings nothing", "[planner][measurement]") {
  Layouts layouts;
  layouts.options.tables.parameters = {models::common::host_launch};
  CHECK(tables(layouts.compare()) == 0);
  // Nor does one whose build may reach any rate.
  layouts.options.tables.parameters = {models::neuron::link_fraction};
  CHECK(tables(layouts.compare()) > 0);
  layouts.options.tables.rates = 1e3;
  CHECK(tables(layouts.compare()) == 0);
  // Nor is one asked for that no fit of steps would take.
  layouts.options.tables.rates = 0;
  layouts.options.tables.instance = "trn2.48xlarge";
  CHECK(tables(layouts.compare()) == 0);
}
