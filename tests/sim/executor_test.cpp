#include "sim/executor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "sim/event_queue.h"
#include "sim/fair_share.h"
#include "tests/catch.h"
#include "tests/seeds.h"
#include "tests/sim/random_flows.h"

using namespace trnplan;
using namespace trnplan::sim;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;

/// A link of 1 byte/s and a flow of `bytes` over it.
struct OneLink {
  Program program;
  ResourceId link = program.add_resource("link", BytesPerSecond(1));
  FlowId flow(double bytes) { return program.add_flow({{link, bytes}}); }
};

bool within_ticks(SimTime t, std::int64_t ps, std::int64_t ticks) {
  return t.ps >= ps && t.ps <= ps + ticks;
}

}  // namespace

TEST_CASE("events come by time, phase, then order of scheduling", "[sim]") {
  EventQueue<int> q;
  q.schedule({5}, Phase::completion, 1);
  q.schedule({3}, Phase::sharing, 2);
  q.schedule({3}, Phase::completion, 3);
  q.schedule({3}, Phase::completion, 4);
  std::vector<int> order;
  while (!q.empty()) {
    order.push_back(q.pop().payload);
    if (order.size() == 1) q.schedule(q.now(), Phase::completion, 5);  // scheduling at now() is allowed
  }
  CHECK(order == std::vector<int>{3, 4, 5, 2, 1});
  CHECK_THROWS_AS(q.schedule({4}, Phase::completion, 0), std::logic_error);
}

TEST_CASE("an empty program ends at zero", "[sim]") {
  const Run run = execute(Program());
  CHECK(run.end.ps == 0);
  CHECK(run.critical_path().empty());
}

TEST_CASE("a device works in order, dependencies hold", "[sim]") {
  Program p;
  const DeviceId a = p.add_device("a"), b = p.add_device("b");
  const TaskId first = p.add_work(a, {10});
  const TaskId second = p.add_work(a, {20});
  const TaskId other = p.add_work(b, {5});
  p.add_dependency(second, other);
  const Run run = execute(p);
  CHECK(run.started[second].ps == 10);
  CHECK(run.started[other].ps == 30);
  CHECK(run.end.ps == 35);
  CHECK(run.critical_path() == std::vector<TaskId>{first, second, other});
}

TEST_CASE("a rendezvous waits for all its devices", "[sim]") {
  OneLink o;
  const DeviceId a = o.program.add_device("a"), b = o.program.add_device("b");
  o.program.add_work(a, {3});
  o.program.add_work(b, {8});
  const TaskId t = o.program.add_transfer({a, b}, o.flow(2), SimTime{4});
  const Run run = execute(o.program);
  CHECK(run.started[t].ps == 8);
  CHECK(run.end.ps == 8 + 4 + 2 * kSecond);  // latency, then 2 bytes at 1 byte/s
}

TEST_CASE("two transfers share a link and the later one speeds up", "[sim]") {
  OneLink o;
  // Bytes 1 and 3 start together: both at 1/2 B/s until 2 s (1 byte each done), then the last 2 bytes alone:
  // 4 s.
  const TaskId small = o.program.add_transfer({}, o.flow(1), {});
  const TaskId large = o.program.add_transfer({}, o.flow(3), {});
  const Run run = execute(o.program);
  CHECK(run.ended[small].ps == 2 * kSecond);
  CHECK(within_ticks(run.ended[large], 4 * kSecond, 1));  // one change of rate
}

TEST_CASE("a transfer that starts later slows the one under way", "[sim]") {
  OneLink o;
  // A: 2 bytes from 0. B: 1 byte from 1 s. A has 1 left at 1 s; both need 1 byte at 1/2 B/s: both end at 3 s.
  const TaskId a = o.program.add_transfer({}, o.flow(2), {});
  const TaskId b = o.program.add_transfer({}, o.flow(1), SimTime{kSecond});
  const Run run = execute(o.program);
  CHECK(within_ticks(run.ended[a], 3 * kSecond, 1));
  CHECK(within_ticks(run.ended[b], 3 * kSecond, 1));
}

TEST_CASE("edges of a transfer", "[sim]") {
  OneLink o;
  const DeviceId d = o.program.add_device("d");
  const TaskId nothing = o.program.add_transfer({d}, o.flow(0), SimTime{7});
  const TaskId twice = o.program.add_transfer({d, d}, o.flow(1), {});  // sent to itself
  const Run run = execute(o.program);
  CHECK(run.ended[nothing].ps == 7);
  CHECK(run.ended[twice].ps == 7 + kSecond);
  // Two share the link until one is done: only then is it clear that the other ends within the clock (9.2e6
  // s).
  OneLink slow;
  const TaskId longer = slow.program.add_transfer({}, slow.flow(5e6), {});
  slow.program.add_transfer({}, slow.flow(1e6), {});
  CHECK(to_seconds(execute(slow.program).ended[longer]).value == Approx(6e6).epsilon(1e-12));
  OneLink huge;
  huge.program.add_transfer({}, huge.flow(0x1p50), {});
  CHECK_THROWS_AS(execute(huge.program), std::overflow_error);
  // So it is behind others that change its rate more often than rates are rounded one by one.
  OneLink crowded;
  crowded.program.add_transfer({}, crowded.flow(0x1p70), {});
  for (int f = 1; f <= 40; ++f) crowded.program.add_transfer({}, crowded.flow(f), {});
  CHECK_THROWS_AS(execute(crowded.program), std::overflow_error);
  Program apart;
  for (const double capacity : {1.0, 0x1p81})
    apart.add_transfer({}, apart.add_flow({{apart.add_resource({}, BytesPerSecond(capacity)), 1}}), {});
  CHECK_THROWS_AS(execute(apart), std::overflow_error);
}

// Work of 10 s during a transfer from 2 s to 5 s, slowed by 1.5: 2 s, then 3 s in which 2 s of work are done,
// then the remaining 6 s: 11 s. A second device is not slowed.
TEST_CASE("transfers slow the work that they overlap", "[sim]") {
  OneLink o;
  const DeviceId compute = o.program.add_device("compute"), collectives = o.program.add_device("collectives"),
                 other = o.program.add_device("other");
  o.program.add_slowdown(compute, collectives, 1.5);
  const TaskId work = o.program.add_work(compute, SimTime{10 * kSecond});
  const TaskId next = o.program.add_work(compute, SimTime{kSecond});
  const TaskId free = o.program.add_work(other, SimTime{10 * kSecond});
  o.program.add_transfer({collectives}, o.flow(3), SimTime{2 * kSecond});
  const Run run = execute(o.program);
  CHECK(run.ended[work].ps == 11 * kSecond);
  CHECK(run.ended[next].ps == 12 * kSecond);
  CHECK(run.ended[free].ps == 10 * kSecond);
  CHECK_THROWS_AS(o.program.add_slowdown(compute, other, 2), std::invalid_argument);
  CHECK_THROWS_AS(o.program.add_slowdown(other, compute, 0.5), std::invalid_argument);
  CHECK_THROWS_AS(o.program.add_slowdown(other, other, 2), std::invalid_argument);
}

TEST_CASE("misuse of a program throws", "[sim]") {
  Program p;
  CHECK_THROWS_AS(p.add_resource("r", BytesPerSecond(0)), std::invalid_argument);
  const DeviceId d = p.add_device("d");
  CHECK_THROWS_AS(p.add_work(d, {-1}), std::invalid_argument);
  CHECK_THROWS_AS(p.add_work(d + 1, {1}), std::invalid_argument);
  CHECK_THROWS_AS(p.add_flow({{0, 1}}), std::invalid_argument);
  const TaskId t = p.add_work(d, {1});
  CHECK_THROWS_AS(p.add_dependency(t, t), std::invalid_argument);
  const TaskId u = p.add_work(d, {1});
  p.add_dependency(u, t);  // the queue says t before u: a circle
  CHECK_THROWS_AS(execute(p), std::logic_error);
}

namespace {

/// Random work and transfers over a few links.
Program random_program(unsigned seed, double bandwidth, std::int64_t time_scale) {
  boost::random::mt19937 random(seed);
  const auto pick = [&](int least, int most) {
    return boost::random::uniform_int_distribution<int>(least, most)(random);
  };
  Program p;
  for (int r = 0; r < 4; ++r) p.add_resource("r", BytesPerSecond(bandwidth * pick(1, 5)));
  for (int d = 0; d < 5; ++d) p.add_device("d");
  std::vector<FlowId> flows;
  for (int f = 0; f < 6; ++f) {
    std::vector<Weight> weights;
    for (int w = pick(1, 3); w > 0; --w)
      weights.push_back({static_cast<ResourceId>(pick(0, 3)), 1e-6 * pick(1, 50)});
    flows.push_back(p.add_flow(weights));
  }
  for (int t = 0; t < 60; ++t) {
    if (pick(0, 1) == 0) {
      p.add_work(static_cast<DeviceId>(pick(0, 4)), SimTime{pick(0, 40) * 1'000'000 * time_scale});
    } else {
      p.add_transfer({static_cast<DeviceId>(pick(0, 4)), static_cast<DeviceId>(pick(0, 4))},
                     flows[static_cast<std::size_t>(pick(0, 5))],
                     SimTime{pick(0, 3) * 1'000'000 * time_scale});
    }
    if (t > 2 && pick(0, 3) == 0)
      p.add_dependency(static_cast<TaskId>(pick(0, t - 1)), static_cast<TaskId>(t));
  }
  return p;
}

}  // namespace

TEST_CASE("random programs", "[sim][property]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 59)));
  CAPTURE(seed);
  const Program p = random_program(seed, 1, 1);
  const Run run = execute(p);

  SECTION("same program, same run") {
    const Run again = execute(p);
    CHECK(again.ended.size() == run.ended.size());
    for (std::size_t t = 0; t < run.ended.size(); ++t) CHECK(again.ended[t] == run.ended[t]);
  }
  SECTION("nothing starts before what it waits for; the critical path abuts and adds up") {
    for (const auto& [before, after] : p.dependencies()) CHECK(run.started[after] >= run.ended[before]);
    SimTime at;
    for (const TaskId t : run.critical_path()) {
      CHECK(run.started[t] == at);
      at = run.ended[t];
    }
    CHECK(at == run.end);
  }
  SECTION("half the bandwidth and twice the work lengths take twice as long") {
    const Run slow = execute(random_program(seed, 0.5, 2));
    // Each transfer's end is rounded up to a tick, so a chain of n may differ by n ticks.
    CHECK(std::abs(slow.end.ps - 2 * run.end.ps) <= 2 * static_cast<std::int64_t>(p.tasks().size()));
  }
}

// For links alone: what is free on one cannot speed up a flow that then takes from another. With flows over
// several links, or dependencies, more capacity can make the end later (a flow sped up here slows one there
// that others wait for), under any max-min sharing.
TEST_CASE("more capacity is never slower where each flow has one link", "[sim][property]") {
  int faster = 0;
  for (const unsigned seed : seeds(1, 200)) {
    testing::Random random(seed);
    std::vector<double> capacity = random.capacities(4);
    std::vector<std::pair<Weight, SimTime>> flows;
    for (int f = random.whole(1, 20); f > 0; --f) {
      flows.push_back({{static_cast<ResourceId>(random.whole(0, 3)), random.real(0.1, 100)},
                       SimTime{random.whole(0, 9) * 100'000'000'000}});
    }
    const auto run = [&] {
      Program p;
      for (const double c : capacity) p.add_resource("r", BytesPerSecond(c));
      for (const auto& [weight, start] : flows) p.add_transfer({}, p.add_flow({weight}), start);
      return execute(p);
    };
    const Run before = run();
    capacity[static_cast<std::size_t>(random.whole(0, 3))] *= random.real(1, 3);
    const Run after = run();
    const auto ticks = static_cast<std::int64_t>(2 * flows.size());
    for (std::size_t f = 0; f < flows.size(); ++f) {
      CAPTURE(seed, f);
      CHECK(after.ended[f].ps <= before.ended[f].ps + ticks);
    }
    faster += after.end < before.end;
  }
  CHECK(faster > at_least(20));
}

TEST_CASE("concurrent runs equal the run alone", "[sim]") {
  const auto digest = [](const Program& p) {
    std::uint64_t d = 0xcbf29ce484222325;
    const auto note = [&](std::int64_t x) { d = (d ^ static_cast<std::uint64_t>(x)) * 0x100000001b3; };
    const Run run = execute(p, [&](SimTime at, TaskId task, double rate) {
      note(at.ps);
      note(task);
      note(std::bit_cast<std::int64_t>(rate));
    });
    for (const SimTime t : run.ended) note(t.ps);
    return d;
  };
  std::vector<Program> programs;
  std::vector<std::uint64_t> alone;
  for (const unsigned seed : seeds(1, 10)) {
    programs.push_back(random_program(seed, 1, 1));
    alone.push_back(digest(programs.back()));
  }
  CHECK(std::set<std::uint64_t>(alone.begin(), alone.end()).size() == alone.size());
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int& mine : wrong) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        for (std::size_t p = 0; p < programs.size(); ++p) mine += digest(programs[p]) != alone[p];
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CHECK(wrong == std::vector<int>(4, 0));
}

TEST_CASE("resources that all flows load alike change nothing", "[sim][property]") {
  // One link against eight copies of it.
  const auto build = [](int copies) {
    Program p;
    for (int r = 0; r < copies; ++r) p.add_resource("r", BytesPerSecond(1));
    std::vector<Weight> weights;
    for (int r = 0; r < copies; ++r) weights.push_back({static_cast<ResourceId>(r), 3});
    const FlowId f = p.add_flow(weights);
    for (int t = 0; t < 5; ++t) p.add_transfer({}, f, SimTime{t * kSecond});
    return execute(p).end;
  };
  CHECK(build(1) == build(8));
}

namespace {

/// `rounds` times the same random tasks on four queues and two links, then one that all queues wait for.
Program repeated(unsigned seed, int rounds) {
  boost::random::mt19937 random(seed);
  const auto between = [&](int low, int high) {
    return boost::random::uniform_int_distribution<int>(low, high)(random);
  };
  Program p;
  std::vector<DeviceId> all;
  for (int d = 0; d < 4; ++d) all.push_back(p.add_device(""));
  std::vector<FlowId> flows;
  for (int r = 0; r < 2; ++r) p.add_resource("", BytesPerSecond(1));
  for (int f = 0; f < 3; ++f) {
    flows.push_back(p.add_flow({{static_cast<ResourceId>(between(0, 1)), between(1, 9) * 1e-12},
                                {static_cast<ResourceId>(between(0, 1)), between(1, 9) * 1e-12}}));
  }
  struct Kind {
    int what, a, b, length;
  };
  std::vector<Kind> round{{0, 0, 0, between(1, 20)}};
  for (int i = between(4, 12); i > 0; --i)
    round.push_back({between(0, 3), between(0, 3), between(0, 3), between(1, 20)});
  for (int r = 0; r < rounds; ++r) {
    for (const Kind& k : round) {
      const DeviceId a = all[static_cast<std::size_t>(k.a)], b = all[static_cast<std::size_t>(k.b)];
      const FlowId flow = flows[static_cast<std::size_t>(k.length) % flows.size()];
      if (k.what < 2) {
        p.add_work(a, SimTime{k.length});
      } else if (k.what == 2) {
        p.add_transfer({a, b}, flow, SimTime{k.length});
      } else {  // outside the queues: between the task before it and the next work of a queue
        const TaskId message = p.add_transfer({}, flow, SimTime{k.length});
        p.add_dependency(message - 1, message);
        p.add_dependency(message, p.add_work(a, SimTime{1}));
      }
    }
  }
  p.add_transfer(all, p.add_flow({}), SimTime{5});
  return p;
}

}  // namespace

TEST_CASE("a rhythm that is found goes on, to the tick", "[sim]") {
  int found = 0, paths = 0;
  for (const unsigned seed : seeds(1, 300)) {
    constexpr int kShort = 40, kLong = 200;
    const Program few = repeated(seed, kShort), many = repeated(seed, kLong);
    const auto tasks = static_cast<TaskId>(few.tasks().size() - 1), period = tasks / kShort;
    const Run run = execute(few, Repeats{0, period, tasks}), all = execute(many);
    CAPTURE(seed, period);
    CHECK(run.end.ps == execute(few).end.ps);
    if (!run.rhythm || run.rhythm->tasks / period > 5) continue;
    const auto each = static_cast<int>(run.rhythm->tasks / period);
    if ((kLong - kShort) % each != 0) continue;
    ++found;
    const int repeats = (kLong - kShort) / each;
    CHECK((run.end + run.rhythm->length * repeats).ps == all.end.ps);
    // The chain that determines the end, by what its tasks are: their place in a round.
    std::vector<std::int64_t> counted(period + 1), walked(period + 1);
    for (const PathPart& part : run.critical_path(repeats)) {
      paths += part.times > 1;
      for (const TaskId t : part.tasks) {
        counted[t == tasks ? period : t % period] += (run.ended[t] - run.started[t]).ps * part.times;
      }
    }
    const auto last = static_cast<TaskId>(many.tasks().size() - 1);
    for (const TaskId t : all.critical_path())
      walked[t == last ? period : t % period] += (all.ended[t] - all.started[t]).ps;
    CHECK(counted == walked);
  }
  CAPTURE(found, paths);
  CHECK(found > at_least(80));
  CHECK(paths > at_least(80));
}

TEST_CASE("tasks added again are the same tasks", "[sim]") {
  OneLink o;
  const DeviceId a = o.program.add_device("a"), b = o.program.add_device("b");
  o.program.add_work(a, {3}, 7);
  o.program.add_transfer({a, b}, o.flow(2), {5});
  o.program.add_again(0, 2);
  const auto& tasks = o.program.tasks();
  REQUIRE(tasks.size() == 4);
  CHECK(tasks[2].tag == 7);
  const Run run = execute(o.program);
  CHECK(run.ended[3] == run.ended[1] * 2);
  CHECK_THROWS_AS(o.program.add_again(3, 5), std::invalid_argument);
  CHECK_THROWS_AS(o.program.add_again(2, 1), std::invalid_argument);
}

// Catches a series that is taken though it says what no program can do, and one that is counted as another number of
// tasks.
TEST_CASE("a series is checked when it is added", "[sim]") {
  OneLink o;
  const DeviceId a = o.program.add_device("a"), b = o.program.add_device("b");
  const FlowId flow = o.flow(2);
  const auto add = [&](DeviceId device, DeviceId engine, const std::vector<std::vector<Element>>& beats) {
    return o.program.add_series(device, engine, beats);
  };
  const Element work{{3}, Task::kNoFlow, 7}, transfer{{1}, flow, 8};
  CHECK_THROWS_AS(add(a, 2, {{work}}), std::invalid_argument);
  CHECK_THROWS_AS(add(a, a, {{work, transfer}}), std::invalid_argument);
  CHECK_THROWS_AS(add(a, b, {}), std::invalid_argument);
  CHECK_THROWS_AS(add(a, b, {{work}, {}}), std::invalid_argument);
  CHECK_THROWS_AS(add(a, b, {{{{-1}, flow}}}), std::invalid_argument);
  CHECK_THROWS_AS(add(a, b, {{{{1}, flow + 1}}}), std::invalid_argument);
  CHECK(o.program.tasks().empty());
  const TaskId t = add(a, b, {{work}, {work, transfer, transfer}});
  o.program.add_again(t, t + 1);
  CHECK(o.program.tasks()[t].tag == 7);
  // One, then a meeting, two transfers, the work and a meeting.
  CHECK(o.program.expanded_tasks() == 2 * (1 + 5));
  CHECK(o.program.expanded().program.tasks().size() == 12);
}

// Catches a lone flow whose time rounds otherwise than the engine's, by which a chain of layers would be longer alone
// than in a step.
TEST_CASE("a lone flow takes the engine's time, to the tick", "[sim]") {
  for (const unsigned seed : seeds(1, 200)) {
    trnplan::sim::testing::Random random(seed);
    const std::vector<double> capacity = random.capacities(6);
    Flow flow = random.flow(6, 6);
    if (random.whole(0, 1) == 1) flow.scale = filling::scale_of(flow) * random.real(0.1, 2);
    Program program;
    for (const double c : capacity) program.add_resource({}, BytesPerSecond(c));
    // The second starts where the first has left what it counts by.
    for (int i = 0; i < 2; ++i)
      program.add_transfer({program.add_device({})}, program.add_flow(flow.weights, flow.scale), {});
    program.add_dependency(0, 1);
    LoneFlow alone(filling::scale_of(flow));
    for (const Weight& w : flow.weights) alone.use(w.bytes, capacity[w.resource]);
    CAPTURE(seed);
    CHECK(execute(program).end == alone.length() * 2);
  }
  CHECK(LoneFlow(0).length() == SimTime{});
  LoneFlow endless(1);
  endless.use(1, 1e-12);
  CHECK_THROWS_AS(endless.length(), std::overflow_error);
}
