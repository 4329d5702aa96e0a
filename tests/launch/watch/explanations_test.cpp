// Slow runs that a scenario made: watch names the scenario, with the value that was planted. A wrong solver, prior or
// word of a scenario fails here.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include <fmt/format.h>

#include "io/input/scenario_text.h"
#include "launch/watch/explanation_words.h"
#include "launch/watch/explanations.h"
#include "launch/watch/slow_steps.h"
#include "models/step/step.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "topology/chip_graph.h"

using namespace trnplan;
using launch::Cause;
using models::Scenario;

namespace {

/// 32 GPUs on four nodes, whose gradients are reduced in a ring after the last backward pass.
struct Ran {
  models::Job job = [] {
    models::Job j = job_of("llama3-8b", 4, 2048, 64);
    j.cluster.instance = gpu_machine();
    return j;
  }();
  models::Strategy strategy = strategy_of(job, "tp=1,zero1=false,framework=megatron-deepspeed");
  models::Profile profile = gpu_profile();
  models::StepModel model{job, strategy, profile, topology::ChipGraph(job.cluster.instance)};
  models::StepReport ideal = model.simulate();

  io::PlanFile plan() const {
    io::PlanFile p;
    p.job = job;
    p.strategy = strategy;
    p.step = ideal.step;
    p.low = ideal.low;
    p.high = ideal.high;
    return p;
  }
};

/// A log of sound steps, then of 40 slow ones; each varies by `log_sd`.
class Log {
 public:
  Log& add(double seconds, int steps, double log_sd = 0.005) {
    std::normal_distribution<double> normal(0, 1);
    for (int i = 0; i < steps; ++i)
      text_ += fmt::format("step {} step_time {:.6f}s throughput 3.9 seq/s loss 2.5 grad norm 1.9\n", ++step_,
                           seconds * std::exp(log_sd * normal(random_)));
    return *this;
  }
  launch::RunLog read() const { return launch::read_run_log(text_, "log"); }

 private:
  std::mt19937 random_{7};
  std::string text_;
  int step_ = 0;
};

std::vector<launch::Explanation> explained(const Ran& ran, const Log& log) {
  const auto slow = launch::slow_steps(log.read(), ran.plan());
  REQUIRE(slow);
  return launch::explain(*slow, ran.job, ran.strategy, ran.profile);
}

const launch::Explanation& of(const std::vector<launch::Explanation>& all, Cause cause) {
  return *std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.cause == cause; });
}

}  // namespace

TEST_CASE("watch names the scenario that made a run slow, with its value", "[launch]") {
  const Ran ran;
  struct Planted {
    Cause cause;
    const char* text;
    double value;
  };
  const auto [cause, text, value] = GENERATE(
      Planted{Cause::slow_node, "slow-node=2:1.28", 1.28}, Planted{Cause::slow_node, "slow-node=0:2", 2},
      Planted{Cause::nic, "nic=1:0.5", 0.5}, Planted{Cause::nic, "nic=3:0.25", 0.25},
      Planted{Cause::spine, "spine=0.4", 0.4}, Planted{Cause::late_node, "late-node=1:0.2", 0.2});
  CAPTURE(text);
  const Scenario planted = io::read_scenario(text, ran.job.cluster, {});
  const double step = ran.model.simulate({.scenario = planted}).step.value;
  // Sound at first, so that small slowdowns count too.
  const auto found = explained(ran, Log().add(ran.ideal.step.value, 30).add(step, 30));
  const launch::Explanation& e = of(found, cause);
  CAPTURE(step / ran.ideal.step.value, e.probability, launch::to_string(found.front().cause));
  CHECK(e.reaches);
  CHECK(e.as_likely);
  CHECK(e.value == Approx(value).epsilon(0.02));
  CHECK(e.times * ran.ideal.step.value == Approx(step).epsilon(0.01));
  // What is printed is what was simulated.
  const Scenario printed =
      io::read_scenario(io::scenario_text(e.scenario, ran.job.cluster), ran.job.cluster, {});
  CHECK(ran.model.simulate({.scenario = printed}).step.value ==
        Approx(e.times * ran.ideal.step.value).epsilon(1e-9));
  // The run was sound at first, so the prediction is not what is wrong.
  CHECK(of(found, Cause::prediction).probability < 0.05);
}

// A ring is paced by its slowest NIC, so half of one node's network and half of all nodes' make the same step.
TEST_CASE("what a log cannot tell apart is said, with what to run", "[launch]") {
  const Ran ran;
  const double step = ran.model.simulate({.scenario = {.spine = 0.3}}).step.value;
  REQUIRE(step > ran.ideal.high.value);
  const auto found = explained(ran, Log().add(step, 30));
  CHECK(of(found, Cause::nic).value == Approx(0.3).epsilon(0.02));
  CHECK(of(found, Cause::spine).value == Approx(0.3).epsilon(0.02));
  CHECK(of(found, Cause::nic).as_likely);
  CHECK(of(found, Cause::spine).as_likely);
  CHECK(contains(launch::how_to_tell(found), "pairs of nodes"));
  double sum = 0;
  for (const launch::Explanation& e : found) sum += e.probability;
  CHECK(sum == Approx(1));
  CHECK(std::is_sorted(found.begin(), found.end(),
                       [](const auto& a, const auto& b) { return a.probability > b.probability; }));
}

// Two micro-batches: random times of the passes show in the spread of steps, a slow node does not.
TEST_CASE("the spread of steps tells random times from a slow node", "[launch]") {
  const Ran ran;
  const Scenario random{.random = {0.15, 40, 3}};
  Log log;
  log.add(ran.ideal.step.value, 30);
  for (int run = 0; run < 40; ++run)
    log.add(ran.model.simulate({.scenario = random, .run = run}).step.value, 1);
  const auto varying = explained(ran, log);
  CHECK(varying.front().cause == Cause::jitter);
  CHECK(varying.front().value == Approx(0.15).epsilon(0.1));  // the mean of 20 runs is known to some per cent
  const double step = ran.model.simulate_runs(random).median.step.value;
  const auto even = explained(ran, Log().add(ran.ideal.step.value, 30).add(step, 40, 0.002));
  CHECK(of(even, Cause::jitter).probability < of(even, Cause::slow_node).probability / 10);
}

TEST_CASE("runs without slow steps, and causes that a machine lacks, are not explained", "[launch]") {
  Ran ran;
  const double step = ran.ideal.step.value;
  CHECK_FALSE(launch::slow_steps(Log().add(step, 60).read(), ran.plan()));
  CHECK_FALSE(launch::slow_steps(Log().add(step * 1.3, 30).add(step, 30).read(), ran.plan()));
  CHECK_FALSE(launch::slow_steps(Log().read(), ran.plan()));
  // A log that is too short for a drift, and one that drifts.
  const auto slow = launch::slow_steps(Log().add(ran.ideal.high.value * 1.1, 3).read(), ran.plan());
  REQUIRE(slow);
  CHECK_FALSE(slow->later);
  CHECK_FALSE(slow->spread);
  CHECK(launch::slow_steps(Log().add(step, 30).add(step * 1.1, 30).read(), ran.plan())->later);
  // Far more than any cause: nothing is claimed but what it would take at most.
  const auto far = explained(ran, Log().add(step * 50, 30));
  for (const launch::Explanation& e : far) CHECK(e.reaches == (e.cause == Cause::prediction));
  // One node has no network between nodes.
  models::Job one = job_of("llama3-8b", 1, 2048, 64);
  one.cluster.instance = gpu_machine();
  const models::Strategy s = strategy_of(one, "tp=8,zero1=false");
  const models::StepReport ideal = models::simulate_step(one, s, ran.profile);
  const auto alone =
      launch::explain({ideal.step.value * 1.5, ideal.step.value, 0.02, true, {}, 0}, one, s, ran.profile);
  CHECK(alone.size() == 4);
  for (const launch::Explanation& e : alone) CHECK((e.cause != Cause::nic && e.cause != Cause::spine));
}

// The slower the run, the more it takes: a solver that stops early, or at a wrong end, breaks the order.
TEST_CASE("a slower run needs a slower node", "[launch]") {
  const Ran ran;
  double before = 1;
  for (double times = 1.05; times < 3; times *= 1.17) {
    const auto found = launch::explain({times, 1, 0.02, true, {}, 0}, ran.job, ran.strategy, ran.profile);
    const launch::Explanation& e = of(found, Cause::slow_node);
    CAPTURE(times);
    CHECK(e.times == Approx(times).epsilon(1e-3));
    CHECK(e.value > before);
    before = e.value;
  }
}
