// What the executor foresees against the same programs task by task: a run that somebody observes foresees nothing.
#include <vector>

#include "sim/executor.h"
#include "sim/sides.h"
#include "tests/catch.h"
#include "tests/seeds.h"
#include "tests/sim/random_flows.h"

using namespace trnplan;
using namespace trnplan::sim;

namespace {

/// Queues of work and transfers over each queue's own link and a link that some share, with messages between them that
/// use links of both ends. `coarse` times often tie. `engines`: of each queue, whose transfers slow its work. `series`:
/// some of the tasks of a queue are series, with an engine of their own.
Program random_queues(unsigned seed, bool coarse, int engines = 0, bool series = false) {
  testing::Random random(seed);
  const int queues = random.whole(1, 4);
  Program p;
  std::vector<FlowId> own, messages;
  const int scale = series ? 1000 : 1;  // so that fewer of what is more tie
  const auto bytes = [&] { return coarse ? random.whole(1, 3) * 1e-11 : random.real(1e-12, 1e-9) * scale; };
  const ResourceId shared = p.add_resource("shared", BytesPerSecond(2));
  for (int q = 0; q < queues; ++q) {
    p.add_device("queue");
    p.add_resource("link", BytesPerSecond(random.whole(1, 3)));
  }
  const auto link = [&] { return static_cast<ResourceId>(random.whole(1, queues)); };
  for (int q = 0; q < queues; ++q) {
    for (int f = 0; f < 3; ++f) {
      std::vector<Weight> weights{{static_cast<ResourceId>(q + 1), bytes()}};
      if (random.whole(0, 9) == 0) weights.push_back({random.whole(0, 1) == 0 ? shared : link(), bytes()});
      own.push_back(p.add_flow(weights));
    }
    messages.push_back(p.add_flow({{link(), bytes()}, {link(), bytes()}}));
  }
  const FlowId nothing = p.add_flow({});
  std::vector<FlowId> of_engines;
  const double factor = coarse ? 2 : random.real(1, 2);
  for (int e = 0; e < engines * queues; ++e) {
    const int q = e % queues;
    p.add_slowdown(static_cast<DeviceId>(q), p.add_device("engine"), factor);
    of_engines.push_back(
        p.add_flow({{random.whole(0, 2) == 0 ? shared : static_cast<ResourceId>(q + 1), bytes()}}));
  }
  std::vector<DeviceId> of_series;
  std::vector<FlowId> of_fork;
  for (int q = 0; q < (series ? queues : 0); ++q) {
    of_series.push_back(p.add_device("engine of series"));
    of_fork.push_back(p.add_flow({{static_cast<ResourceId>(q + 1), bytes()}}));
    if (random.whole(0, 2) > 0) p.add_slowdown(static_cast<DeviceId>(q), of_series.back(), factor);
  }
  const auto length = [&] {
    return SimTime{coarse ? random.whole(0, 2) * 10 : random.whole(0, 400 * scale)};
  };
  const int most = random.whole(2, 60);  // tasks of a queue without a message between them
  std::vector<TaskId> last(static_cast<std::size_t>(queues), Run::kNone);
  std::vector<std::vector<TaskId>> known(last.size());
  const auto add_series = [&](std::size_t q) {
    if (!known[q].empty() && random.whole(0, 3) > 0) {
      const TaskId t =
          known[q][static_cast<std::size_t>(random.whole(0, static_cast<int>(known[q].size()) - 1))];
      p.add_again(t, t + 1);
      return static_cast<TaskId>(p.tasks().size() - 1);
    }
    const int forks = random.whole(0, 2);  // in none, some, or many beats
    const auto flow = [&] { return own[q * 3 + static_cast<std::size_t>(random.whole(0, 2))]; };
    std::vector<std::vector<Element>> beats(static_cast<std::size_t>(random.whole(1, most)));
    for (std::vector<Element>& beat : beats) {
      const bool works = random.whole(0, 1) == 0;
      const bool forked = forks > 0 && random.whole(0, forks == 1 ? 9 : 2) == 0;
      beat.push_back({length(), works || (forked && random.whole(0, 9) > 0) ? Task::kNoFlow : flow()});
      for (int e = forked ? random.whole(1, 3) : 0; e > 0; --e)
        beat.push_back({length(), random.whole(0, 3) > 0 ? of_fork[q] : Task::kNoFlow});
    }
    known[q].push_back(p.add_series(static_cast<DeviceId>(q), of_series[q], beats));
    return known[q].back();
  };
  for (int round = random.whole(3, 12); round > 0; --round) {
    for (std::size_t q = 0; q < last.size(); ++q) {
      const auto d = static_cast<DeviceId>(q);
      for (int t = random.whole(1, most); t > 0; --t) {
        if (series && random.whole(0, 2) == 0) {
          last[q] = add_series(q);
          t -= 5;
          continue;
        }
        const FlowId flow = own[q * 3 + static_cast<std::size_t>(random.whole(0, 2))];
        last[q] = random.whole(0, 1) == 0 ? p.add_work(d, length()) : p.add_transfer({d}, flow, length());
      }
    }
    for (std::size_t e = 0; e < of_engines.size(); ++e) {
      const auto q = static_cast<DeviceId>(e) % static_cast<DeviceId>(queues);
      const DeviceId engine = static_cast<DeviceId>(queues) + static_cast<DeviceId>(e);
      for (int t = random.whole(0, 2); t > 0; --t) {
        const TaskId transfer = p.add_transfer({engine}, of_engines[e], length());
        if (random.whole(0, 3) > 0) p.add_dependency(last[q], transfer);
      }
      if (random.whole(0, 2) == 0) last[q] = p.add_transfer({q, engine}, nothing, {});
    }
    for (const FlowId flow : messages) {
      const TaskId from = last[static_cast<std::size_t>(random.whole(0, queues - 1))];
      const auto to = static_cast<std::size_t>(random.whole(0, queues - 1));
      if (random.whole(0, 3) == 0) {
        const auto other = static_cast<DeviceId>(random.whole(0, queues - 1));
        last[to] = p.add_transfer({static_cast<DeviceId>(to), other}, coarse ? nothing : flow, length());
        continue;
      }
      const TaskId message = p.add_transfer({}, flow, length());
      p.add_dependency(from, message);
      last[to] = p.add_work(static_cast<DeviceId>(to), length());
      if (random.whole(0, 2) > 0) p.add_dependency(message, last[to]);
    }
  }
  return p;
}

/// A run of a program with series.
struct Compared {
  Run run;
  bool fewer_events;  ///< than the run of its elements
};
/// Runs a program, and requires that the run is that of its elements.
Compared compare_with_elements(const Program& p) {
  const Program::Expansion all = p.expanded();
  const Run each = execute(all.program, [](SimTime, TaskId, double) {});
  const Run run = execute(p);
  REQUIRE(all.program.tasks().size() == p.expanded_tasks());
  REQUIRE(run.end == each.end);
  for (TaskId t = 0; t < p.tasks().size(); ++t) {
    const TaskId first = all.first[t], last = all.first[t + 1] - 1;
    CAPTURE(t);
    REQUIRE(run.started[t] == each.started[first]);
    REQUIRE(run.ended[t] == each.ended[last]);
    const TaskId by = run.released_by[t];
    REQUIRE((by == Run::kNone ? by : all.first[by + 1] - 1) == each.released_by[first]);
    if (p.tasks()[t].series == Task::kNoSeries) continue;
    std::vector<TaskId> chain;
    for (TaskId i = last;; i = each.released_by[i]) {
      if (all.element[i] != Program::Expansion::kNoElement) chain.insert(chain.begin(), i);
      if (i == first) break;
    }
    auto next = chain.begin();
    run.each_element(p, t, [&](const Element& e, SimTime length) {
      REQUIRE(next != chain.end());
      REQUIRE(&e == &p.elements()[all.element[*next]]);
      REQUIRE(length == each.ended[*next] - each.started[*next]);
      ++next;
    });
    REQUIRE(next == chain.end());
  }
  return {run, run.events < each.events};
}

}  // namespace

// Catches a message that comes to a queue's link and is not felt by the transfer under way there, or by the next; work
// that is done twice or not at all when it comes, or is not slowed; and a task released by the wrong one of two that
// end at one tick.
TEST_CASE("a run that looks ahead is the run task by task", "[sim][property]") {
  int fewer = 0;
  for (const unsigned seed : seeds(1, 600)) {
    const Program p = random_queues(seed, seed % 3 == 0, static_cast<int>(seed / 3 % 3));
    std::uint64_t changes = 0;
    const Run each = execute(p, [&](SimTime, TaskId, double) { ++changes; });
    const Run run = execute(p);
    CAPTURE(seed);
    REQUIRE(run.end == each.end);
    REQUIRE(run.started == each.started);
    REQUIRE(run.ended == each.ended);
    REQUIRE(run.released_by == each.released_by);
    fewer += run.events < each.events;
    CHECK(changes > 0);
  }
  CAPTURE(fewer);
  CHECK(fewer > at_least(300));
}

// Catches what the test above does in a series: a beat under way when a message comes that is done twice or not at all,
// whose engine's transfer slows its work no longer, or twice; one of which the wrong side is said to have lasted; and
// times of elements that are not those of the beats that were done again.
TEST_CASE("a series is its elements", "[sim][property]") {
  int fewer = 0, mixed = 0;
  for (const unsigned seed : seeds(1, 600)) {
    const Program p = random_queues(seed, seed % 3 == 0, static_cast<int>(seed / 3 % 3), true);
    CAPTURE(seed);
    const Compared c = compare_with_elements(p);
    fewer += c.fewer_events;
    for (TaskId t = 0; t < p.tasks().size(); ++t)
      mixed += p.is_series(t) && c.run.elements.place[t] == ElementTimes::kAlone;
  }
  CAPTURE(fewer, mixed);
  CHECK(fewer > at_least(300));
  CHECK(mixed > at_least(300));
}

// Catches the side of a beat that is said to have lasted where both end at one tick: the one scheduled last, and of two
// scheduled together the device's, in whichever order they end. Flows take 10 and 20 ticks, and work
// meanwhile is half as fast.
TEST_CASE("of two sides that end together the one scheduled last determines the end", "[sim]") {
  Program p;
  const DeviceId queue = p.add_device("queue"), engine = p.add_device("engine"),
                 other = p.add_device("other");
  const FlowId of_engine = p.add_flow({{p.add_resource("link", BytesPerSecond(1)), 1e-11}}),
               of_other = p.add_flow({{p.add_resource("far link", BytesPerSecond(1)), 2e-11}});
  for (const DeviceId d : {engine, other}) p.add_slowdown(queue, d, 2);
  enum : std::uint32_t { device, first, second };
  const auto work = [](std::int64_t length, std::uint32_t tag) {
    return Element{SimTime{length}, Task::kNoFlow, tag};
  };
  const Element flows{SimTime{10}, of_engine, first};
  using Beats = std::vector<std::vector<Element>>;
  // Scheduled together, the device ends second; together at 20, the engine does; the engine, at 5.
  const Beats beats{{work(10, device), work(10, first)},
                    {work(25, device), flows, work(10, second)},
                    {work(15, device), work(5, first), work(10, second)}};
  const TaskId alone = p.add_series(queue, engine, beats);
  // The device, at 25, when the flow of the other ends that came at 5: it has done 5 and 10 of 20. It ends second.
  const TaskId slowed = p.add_series(queue, engine, Beats{{work(20, device), work(30, first)}});
  p.add_dependency(alone, p.add_transfer({other}, of_other, SimTime{5}));
  const Compared c = compare_with_elements(p);
  CHECK(c.fewer_events);
  CHECK(c.run.end == SimTime{85});
  std::vector<std::uint32_t> tags;
  for (const TaskId t : {alone, slowed})
    c.run.each_element(p, t, [&](const Element& e, SimTime) { tags.push_back(e.tag); });
  CHECK(tags == std::vector<std::uint32_t>{device, device, first, second, device});
}

// Catches work that is slowed before or after its engine's flow, and one whose state on the way is not that of its end.
// Work of 100 ticks, half as fast from tick 10, after the latency, to tick 50: it has done 10 + 20, and ends 70 later.
TEST_CASE("work during a transfer of its engine, at any time", "[sim]") {
  const auto at = [](std::int64_t now) {
    return sides_at(
        SimTime{100}, 2, 1,
        [](std::size_t) {
          return LoneTransfer{{10}, {40}};
        },
        {}, SimTime{now});
  };
  const Sides end = at(1000), before = at(10), during = at(30);
  CHECK(end.end == SimTime{120});
  CHECK(end.engine_since == SimTime{50});
  CHECK(end.engine_at == 1);
  CHECK_FALSE(end.flows);
  CHECK_FALSE(before.flows);
  CHECK(before.flow_at == SimTime{10});
  CHECK(before.left == SimTime{100});
  CHECK(during.flows);
  CHECK(during.since == SimTime{10});
  CHECK(during.left == SimTime{90});
  CHECK(during.end == SimTime{190});
  CHECK_FALSE(end.tied);
  CHECK(sides_at(
            SimTime{30}, 2, 1,
            [](std::size_t) {
              return LoneTransfer{{10}, {40}};
            },
            {}, SimTime{99})
            .tied);
}

// Catches a release that depends on the order of events, which a run that looks ahead does not have. The last tasks of
// three queues end at one time; those of the first and the second were begun at one time too, that of the third before.
TEST_CASE("of tasks that end together the one begun last releases, and of those the last added", "[sim]") {
  Program p;
  const DeviceId a = p.add_device("a"), b = p.add_device("b"), c = p.add_device("c");
  TaskId last_of_b = 0;
  for (const int length : {20, 10, 5}) p.add_work(a, SimTime{length});
  for (const int length : {10, 20, 5}) last_of_b = p.add_work(b, SimTime{length});
  for (const int length : {10, 19, 6}) p.add_work(c, SimTime{length});
  const TaskId meeting = p.add_transfer({a, b, c}, p.add_flow({}), {});
  for (const Run& run : {execute(p), execute(p, [](SimTime, TaskId, double) {})}) {
    CHECK(run.started[meeting] == SimTime{35});
    CHECK(run.released_by[meeting] == last_of_b);
  }
}

// Catches tasks that were foreseen and are then taken for those that wait in a circle.
TEST_CASE("a circle is found behind what was foreseen", "[sim]") {
  Program p;
  const DeviceId a = p.add_device("a"), b = p.add_device("b");
  for (int t = 0; t < 5; ++t) p.add_work(a, {3});
  const TaskId first = p.add_work(b, {1}, 8), second = p.add_work(b, {1}, 9);
  p.add_dependency(second, first);
  CHECK_THROWS_WITH(execute(p), Catch::Contains("task 5 (tag 8) never started"));
}
