#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_01.hpp>

#include "planner/cluster/cluster_estimate.h"
#include "planner/cluster/cluster_question.h"
#include "planner/cluster/cluster_run.h"
#include "planner/cluster/progress.h"
#include "tests/catch.h"
#include "tests/planner/reliability.h"
#include "tests/seeds.h"

using namespace trnplan;
using namespace trnplan::planner;

namespace {

using P = ReliabilityParameter;

std::shared_ptr<const RequeueRule> rule(std::string_view name, const RequeueSettings& settings) {
  for (const SchedulerKind& kind : scheduler_kinds())
    if (kind.name == name) return kind.make(settings);
  return nullptr;
}

/// The rule of planner/cost/goodput.h: nodes stay, and the scheduler adds no time.
std::shared_ptr<const RequeueRule> closed_form_rule() {
  return rule("kubernetes", {});
}

ClusterJob job_of_days(int nodes, double days, double step = 10) {
  ClusterJob job;
  job.name = "a";
  job.nodes = nodes;
  job.step = Seconds(step);
  job.steps = days * kDay / step;
  job.every_steps = 100;
  job.checkpoint = Bytes(1e11);
  return job;
}

ClusterSetup one_job(const ClusterJob& job, std::shared_ptr<const RequeueRule> by) {
  ClusterSetup setup;
  setup.nodes = job.nodes;
  setup.jobs = {job};
  setup.rule = std::move(by);
  return setup;
}

/// Failures that never come.
Reliability no_failures() {
  return certain(round_numbers(), {{P::failure_rate, 1e-12}});
}

/// A random job with its failures. Recoveries take some per cent of the time between failures at most: the
/// closed form forgets, at a failure within a recovery, the node that the first one still waits for.
std::pair<ClusterJob, Reliability> random_case(unsigned seed) {
  boost::random::mt19937 engine(seed);
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, boost::random::uniform_01<double>()(engine));
  };
  ClusterJob job = job_of_days(static_cast<int>(between(2, 200)), 60, between(1, 40));
  job.asynchronous = seed % 4 == 0;
  job.checkpoint = Bytes(between(1e10, 4e11));
  const double mtbf_days = between(0.3, 10);
  Reliability r = certain(round_numbers(), {{P::failure_rate, 1 / (mtbf_days * job.nodes)},
                                            {P::detection, between(30, 600)},
                                            {P::replacement, between(60, 1200)},
                                            {P::replacement_share, between(0.1, 1)},
                                            {P::restart, between(50, 500)},
                                            {P::manual_share, between(0.001, 0.02)},
                                            {P::storage_throughput, between(2e9, 2e10)}});
  if (seed % 3 == 0) {  // half of the failures are interruptions of the market
    job.spot = true;
    r.value(P::spot_interruption) = r.value(P::failure_rate);
    r.value(P::failure_rate).median /= 2;
    r.value(P::spot_interruption).median /= 2;
  }
  const RunShape run = shape_of(job);
  job.every_steps = static_cast<int>(best_steps(failure_model(r, run), job.step) * between(0.5, 2)) + 1;
  return {job, r};
}

}  // namespace

// The expected time of a run is its work over the goodput, but for its last interval, which needs no save: a
// save in hundreds. A fault in what a failure takes, when it may come or how long a recovery lasts shows here.
TEST_CASE("one job without spares takes the time of the closed form", "[planner][cluster]") {
  double sum = 0;
  const std::vector<unsigned> all = seeds(1, 5);
  for (const unsigned seed : all) {
    CAPTURE(seed);
    const auto [job, r] = random_case(seed);
    const ClusterSetup setup = one_job(job, closed_form_rule());
    const FailureModel m = failure_model(r, shape_of(job));
    const double expected =
        job.steps * job.step.value / goodput(m, job.every_steps * job.step) - m.stall.value;
    const int runs = 400;
    double walls = 0, squares = 0;
    for (unsigned i = 0; i < runs; ++i) {
      const double wall = simulate_cluster(setup, r, 1000 * seed + i).jobs[0].wall.value / expected - 1;
      walls += wall;
      squares += wall * wall;
    }
    const double mean = walls / runs, error = std::sqrt((squares / runs - mean * mean) / (runs - 1));
    CAPTURE(mean, error);
    CHECK(std::abs(mean) < 3.5 * error);
    CHECK(error < 0.01);  // else the check above could not fail
    sum += mean / error;
  }
  const double count = static_cast<double>(all.size());
  CAPTURE(count);
  CHECK(std::abs(sum / count) < 3.5 / std::sqrt(count));  // no bias
  if (std::getenv("TRNPLAN_SOAK") != nullptr) WARN("mean z " << sum / count << " of " << count << " cases");
}

// Jumping over checkpoints must be the same as walking through them, also where the step changes on the way
// and failures come within a stall or a write.
TEST_CASE("progress in one jump is progress in many", "[planner][cluster]") {
  for (const unsigned seed : seeds(1, 40)) {
    CAPTURE(seed);
    boost::random::mt19937 engine(seed);
    const auto uniform = [&] { return boost::random::uniform_01<double>()(engine); };
    const CheckpointTimes times{1 + std::floor(20 * uniform()), Seconds(30 * uniform()),
                                Seconds(seed % 2 == 0 ? 0 : 300 * uniform())};
    const double steps = std::floor(50 + 500 * uniform());
    const Seconds step(0.5 + 10 * uniform());
    Progress jump(steps, times), walk(steps, times);
    const Seconds end = jump.remaining(step);
    const Seconds to = uniform() * end;
    jump.advance(to, step);
    for (int i = 0; i < 997; ++i) walk.advance(to / 997, step);
    CHECK(walk.done() == Approx(jump.done()).epsilon(1e-9));
    CHECK(walk.safe() == Approx(jump.safe()));
    CHECK(jump.remaining(step).value == Approx((end - to).value).epsilon(1e-6).margin(1e-6));
    CHECK(jump.safe() <= jump.done());
    // Twice as long a step from here on: what is left of saves stays, computing doubles.
    const Seconds slower = jump.remaining(2 * step);
    CHECK(slower >= jump.remaining(step));
    CHECK(slower <= 2 * jump.remaining(step));
    jump.advance(jump.remaining(step), step);
    CHECK(jump.done() == Approx(steps));
    walk.lose();
    CHECK(walk.done() == walk.safe());
  }
}

// 4 intervals of 20 s, saves of 1 s, written for 50 s: 143 s (tests/planner/cost/goodput_test.cpp derives it).
TEST_CASE("a slow write delays the next checkpoint of a job", "[planner][cluster]") {
  Progress p(4, {1, Seconds(1), Seconds(50)});
  CHECK(p.remaining(Seconds(20)).value == Approx(143));
  p.advance(Seconds(70), Seconds(20));
  CHECK(p.safe() == 0);
  p.advance(Seconds(1), Seconds(20));
  CHECK(p.safe() == 1);
  CHECK(p.done() == 2);
  p.lose();
  CHECK(p.remaining(Seconds(20)).value == Approx(20 + 1 + 20 + (50 - 20) + 1 + 20));
}

TEST_CASE("jobs wait for nodes in the order of priority and time", "[planner][cluster]") {
  ClusterSetup setup;
  setup.nodes = 16;
  setup.rule = rule("slurm", {});
  setup.jobs = {job_of_days(16, 1), job_of_days(16, 2), job_of_days(8, 3), job_of_days(8, 4)};
  for (ClusterJob& job : setup.jobs) job.every_steps = 1'000'000;  // no save
  setup.jobs[3].priority = 1;
  // First job 3; then 0, which needs all nodes; 1; and 2, which had to wait for them.
  const ClusterRun run = simulate_cluster(setup, no_failures(), 1);
  CHECK(in_days(run.jobs[3].wall) == Approx(4));
  CHECK(in_days(run.jobs[0].wall) == Approx(5));
  CHECK(in_days(run.jobs[1].wall) == Approx(7));
  CHECK(in_days(run.jobs[2].wall) == Approx(10));
  CHECK(in_days(run.jobs[2].queued) == Approx(7));
  CHECK(in_days(run.span) == Approx(10));
  CHECK(run.use == Approx((16 * 1 + 16 * 2 + 8 * 3 + 8 * 4) / (16.0 * 10)));
  // Kubernetes gives free nodes one by one: job 0 takes the 8 that are left and waits with them.
  setup.rule = rule("kubernetes", {});
  const ClusterRun pods = simulate_cluster(setup, no_failures(), 1);
  CHECK(in_days(pods.jobs[0].wall) == Approx(5));
  CHECK(pods.jobs[0].node_seconds == Approx((8 * 4 + 16 * 1) * kDay));
  CHECK(run.jobs[0].node_seconds == Approx(16 * kDay));
}

TEST_CASE("jobs that share a spine slow each other while both train", "[planner][cluster]") {
  ClusterSetup setup;
  setup.nodes = 16;
  setup.rule = rule("slurm", {});
  setup.jobs = {job_of_days(8, 1), job_of_days(8, 4)};
  for (ClusterJob& job : setup.jobs) job.every_steps = 1'000'000;
  setup.slowed = {{Seconds(0), Seconds(10)}, {Seconds(5), Seconds(0)}};
  // The first takes twice its time, 2 days; in these the second does 2 / 1.5 days of its 4.
  const ClusterRun run = simulate_cluster(setup, no_failures(), 1);
  CHECK(in_days(run.jobs[0].wall) == Approx(2));
  CHECK(in_days(run.jobs[1].wall) == Approx(2 + 4 - 2 / 1.5));
}

// A node takes 10 days to repair: without a spare each loss costs them, with one next to nothing.
TEST_CASE("spares and repair slots", "[planner][cluster]") {
  const Reliability r = certain(
      round_numbers(), {{P::failure_rate, 0.01}, {P::replacement_share, 1}, {P::manual_share, 1e-12}});
  ClusterSetup setup = one_job(job_of_days(10, 60), rule("slurm", {Seconds(300), Seconds(121), {}}));
  setup.repair = Seconds(10 * kDay);
  setup.jobs[0].every_steps = 1000;  // saves take 1 %
  const auto days = [&](int spares, int slots) {
    setup.spares = spares;
    setup.repair_slots = slots;
    return estimate_cluster(setup, r, {.draws = 200}).span.median / kDay;
  };
  CHECK(days(0, 0) > 100);  // six failures of ten days
  CHECK(days(2, 0) < 75);
  CHECK(days(8, 0) < 61.5);
  CHECK(days(8, 0) <= days(2, 0));
  CHECK(days(2, 1) > days(2, 0));  // the second node waits for the first
}

// Catches a cluster that knows one state of a network that was not measured only: a run of 60 days is twice as long in
// one draw of five, and the median lies between those of the states where each is wide.
TEST_CASE("days of a cluster are over the states of its network", "[planner][cluster]") {
  const Reliability never = certain(round_numbers(), {{P::failure_rate, 1e-9}});
  ClusterSetup setup = one_job(job_of_days(10, 60), closed_form_rule());
  setup.jobs[0].error = {{0.8, 0, 0.01}, {0.2, std::log(2), 0.01}};
  const OverRuns days = estimate_cluster(setup, never, {.draws = 500}).span;
  const double once = simulate_cluster(setup, never, 1).span.value;
  const double twice = simulate_cluster(setup, never, 1, {2}).span.value;
  CHECK(days.median == Approx(once).epsilon(0.01));
  CHECK(days.ninety.high == Approx(twice).epsilon(0.02));
  setup.jobs[0].error = {{0.5, 0, 0.5}, {0.5, std::log(4), 0.5}};
  CHECK(estimate_cluster(setup, never, {.draws = 500}).span.median == Approx(twice).epsilon(0.15));
  // Catches the state of one job's network that slows another's, which has none.
  setup.nodes = 11;
  setup.jobs.push_back(job_of_days(1, 60));
  const std::vector<JobEstimate> both = estimate_cluster(setup, never, {.draws = 50}).jobs;
  CHECK(both[1].wall.ninety.high == Approx(both[1].wall.ninety.low));
}

// A node fails in 20 days of use and is away for at least the 3 of its repair, so N nodes fail at most N T / (20 + 3)
// times in T days: 314 failures of 16 nodes in 395 days were 16 nodes that failed while they were in repair. And
// they fail by the time in use alone, once in 20 days.
TEST_CASE("a node in repair does not fail, whichever the scheduler", "[planner][cluster]") {
  const Reliability r = certain(
      round_numbers(), {{P::failure_rate, 0.05}, {P::replacement_share, 1}, {P::manual_share, 1e-12}});
  for (const SchedulerKind& kind : scheduler_kinds()) {
    CAPTURE(kind.name);
    ClusterSetup setup = one_job(job_of_days(16, 30), kind.make(kind.defaults));
    setup.repair = Seconds(3 * kDay);
    const int runs = 200;
    std::vector<double> above, off;
    for (unsigned seed = 1; seed <= runs; ++seed) {
      const JobRun run = simulate_cluster(setup, r, seed).jobs[0];
      REQUIRE(run.wall.value < kInfinity);
      const double waited = kind.name == "slurm" ? 0 : run.queued.value;  // with all but some of its nodes
      above.push_back(run.failures - 16 * in_days(run.wall) / 23);
      off.push_back(run.failures - 0.05 * (run.node_seconds - 16 * waited) / kDay);
    }
    const auto of = [&](const std::vector<double>& values) {
      double sum = 0, squares = 0;
      for (const double v : values) {
        sum += v;
        squares += v * v;
      }
      const double mean = sum / runs;
      return std::pair(mean, std::sqrt((squares / runs - mean * mean) / (runs - 1)));
    };
    const auto [excess, error] = of(above);
    CAPTURE(excess, error);
    CHECK(excess <= 4 * error);
    const auto [difference, its_error] = of(off);
    CAPTURE(difference, its_error);
    CHECK(difference > -4 * its_error);
    if (kind.name == "slurm") CHECK(difference < 4 * its_error);
    CHECK(in_days(simulate_cluster(setup, r, 1).jobs[0].wall) < 200);
  }
}

// The market takes a node 20 times as often as one breaks. Another comes after 500 s, and not after the repair of a
// broken one: a run of 30 days that loses 60 nodes to the market and 3 to failures is not 60 x 3 days late.
TEST_CASE("interruptions of spot nodes count, and need no repair", "[planner][cluster]") {
  Reliability r = certain(round_numbers(),
                          {{P::failure_rate, 0.01}, {P::replacement_share, 1}, {P::manual_share, 1e-12}});
  r.value(P::spot_interruption) = {0.2, 0, "test"};
  ClusterSetup setup = one_job(job_of_days(10, 30), rule("slurm", {Seconds(300), Seconds(0), {}}));
  setup.repair = Seconds(3 * kDay);
  const auto failures = [&](bool spot) {
    setup.jobs[0].spot = spot;
    double failed = 0, used = 0;
    for (unsigned seed = 1; seed <= 100; ++seed) {
      const JobRun run = simulate_cluster(setup, r, seed).jobs[0];
      failed += run.failures;
      used += run.node_seconds / kDay;
      CHECK(in_days(run.wall) < 75);
    }
    return failed / used;
  };
  CHECK(failures(false) == Approx(0.01).epsilon(0.25));
  CHECK(failures(true) == Approx(0.21).epsilon(0.06));
}

TEST_CASE("schedulers answer failures by their own rules", "[planner][cluster]") {
  const auto slurm = rule("slurm", scheduler_kinds()[0].defaults);
  CHECK_FALSE(slurm->keeps_nodes());
  CHECK(slurm->noticed({true, 0}, Seconds(1000)).value == 300);
  CHECK(slurm->noticed({true, 0}, Seconds(100)).value == 100);
  CHECK(slurm->noticed({false, 0}, Seconds(1000)).value == 1000);
  CHECK(slurm->delay({false, 5}).value == 121);
  const auto pods = rule("kubernetes", scheduler_kinds()[1].defaults);
  CHECK(pods->keeps_nodes());
  CHECK(pods->noticed({true, 0}, Seconds(100)).value == 340);
  CHECK(pods->noticed({false, 0}, Seconds(100)).value == 100);
  CHECK(pods->delay({false, 0}).value == 0);
  CHECK(pods->delay({false, 1}).value == 10);
  CHECK(pods->delay({false, 3}).value == 40);
  CHECK(pods->delay({false, 50}).value == 300);
}

// Every failure is of a process; with no restart allowed each waits for a person, 7200 s, and with one every
// second.
TEST_CASE("restarts that are used up wait for a person", "[planner][cluster]") {
  const Reliability r = certain(
      round_numbers(), {{P::failure_rate, 0.02}, {P::replacement_share, 1e-12}, {P::manual_share, 1e-12}});
  const auto recovery = [&](std::optional<int> restarts) {
    const ClusterSetup setup =
        one_job(job_of_days(10, 200), rule("slurm", {Seconds(300), Seconds(0), restarts}));
    const JobRun run = simulate_cluster(setup, r, 3).jobs[0];
    REQUIRE(run.failures > 20);
    return (run.recovering + run.queued).value / run.failures;
  };
  const double base = 100 + 200 + 200;  // detection, restart, loading
  CHECK(recovery(std::nullopt) == Approx(base).epsilon(0.1));
  CHECK(recovery(0) == Approx(base + 7200).epsilon(0.1));
  CHECK(recovery(1) == Approx(base + 3600).epsilon(0.1));
}

TEST_CASE("a hopeless job ends no run, and the simulation ends", "[planner][cluster]") {
  const Reliability r = certain(round_numbers(), {{P::failure_rate, 1000}});
  const ClusterSetup setup = one_job(job_of_days(10, 60), closed_form_rule());
  const ClusterEstimate e = estimate_cluster(setup, r, {.draws = 2});
  CHECK(e.ended == 0);
  CHECK(std::isinf(e.jobs[0].wall.median));
  CHECK(std::isinf(e.jobs[0].failures.median));
  CHECK(std::isinf(e.span.median));
  CHECK(e.given_up > 0);
  CHECK(e.given_up < 30 * kDay);
  CHECK(simulate_cluster(setup, r, 1).events < 5000);
  // One that ends only late is not given up: 40 times its work, and thousands of failures.
  const Reliability hard = certain(round_numbers(), {{P::failure_rate, 5}, {P::manual_share, 1e-12}});
  ClusterSetup slow = one_job(job_of_days(10, 20), closed_form_rule());
  slow.jobs[0].every_steps = 30;
  const ClusterRun run = simulate_cluster(slow, hard, 1);
  CHECK(run.span.value < kInfinity);
  CHECK(run.jobs[0].failures > 1000);
  // Others go on next to one that is given up.
  ClusterSetup both = setup;
  both.nodes = 20;
  both.jobs.push_back(job_of_days(10, 1e-3));
  const ClusterRun pair = simulate_cluster(both, r, 1);
  CHECK(std::isinf(pair.jobs[0].wall.value));
  CHECK(pair.events < 100'000);
}

// Neighbours of the best interval are not distinguished by some runs, ones far from it can; of one value nothing is
// chosen.
TEST_CASE("checkpoint intervals that tie are said to", "[planner][cluster]") {
  ClusterSetup setup = one_job(job_of_days(10, 30), rule("slurm", scheduler_kinds()[0].defaults));
  setup.jobs[0].every_steps = 100;
  const auto ask = [&](const std::vector<int>& steps, int draws) {
    return ask_checkpoints(setup, round_numbers(), steps, 20.0, {.draws = draws});
  };
  const int best = best_checkpoint_steps(setup.jobs[0], round_numbers());
  const ClusterOptions near = ask({best, best + 1, 20 * best}, 60);
  REQUIRE(near.recommended >= 0);
  REQUIRE(near.tied.size() == 1);
  CHECK(near.tied[0] + near.recommended == 1);
  CHECK(ask({best / 8, best}, 200).tied.empty());
  CHECK(ask({best / 8, best}, 1).tied.size() == 1);  // one run says nothing
  const ClusterSetup with = with_checkpoints(setup, 0, round_numbers());
  CHECK(with.jobs[0].every_steps == best);
  CHECK(with_checkpoints(setup, 7, round_numbers()).jobs[0].every_steps == 7);
}

TEST_CASE("a seed gives one cluster", "[planner][cluster]") {
  ClusterSetup setup = one_job(job_of_days(10, 60), rule("slurm", scheduler_kinds()[0].defaults));
  const auto wall = [&](std::uint64_t seed) {
    return simulate_cluster(setup, round_numbers(), seed).jobs[0].wall.value;
  };
  CHECK(wall(1) == wall(1));
  CHECK(wall(1) != wall(2));
  CHECK(simulate_cluster(setup, round_numbers(), 1, {2}).jobs[0].wall.value > 1.9 * wall(1));
}
