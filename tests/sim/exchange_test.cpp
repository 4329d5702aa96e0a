#include "sim/exchange.h"

#include <algorithm>
#include <thread>

#include "sim/executor.h"
#include "tests/catch.h"
#include "tests/seeds.h"
#include "tests/sim/random_flows.h"

using namespace trnplan;
using namespace trnplan::sim;

namespace {

constexpr std::int64_t kMicrosecond = 1'000'000;

/// A ring of `members`, each with a link of its own to the next, `steps` steps of `bytes`.
Exchange ring(std::uint32_t members, std::int64_t steps, double bytes, SimTime latency = {},
              SimTime start = {}) {
  Round round{steps, latency, {}};
  for (std::uint32_t m = 0; m < members; ++m)
    round.messages.push_back({m, (m + 1) % members, {{{m, bytes}}}});
  return {members, start, {round}};
}

/// The same messages as tasks with dependencies.
SimTime as_tasks(const std::vector<double>& capacity, const Exchange& e) {
  Program p;
  for (const double c : capacity) p.add_resource("r", BytesPerSecond(c));
  std::vector<std::vector<TaskId>> before(
      e.members);  // what ends when the member is done with its last round
  for (const Round& round : e.rounds) {
    for (std::int64_t k = 0; k < round.repeat; ++k) {
      std::vector<std::vector<TaskId>> now(e.members);
      for (const Message& m : round.messages) {
        const TaskId t = p.add_transfer({}, p.add_flow(m.flow.weights), round.latency);
        std::vector<TaskId> waits = before[m.from];
        if (!round.pipelined) waits.insert(waits.end(), before[m.to].begin(), before[m.to].end());
        std::sort(waits.begin(), waits.end());
        waits.erase(std::unique(waits.begin(), waits.end()), waits.end());
        for (const TaskId w : waits) p.add_dependency(w, t);
        TaskId arrival = t;
        if (m.latency.ps > 0) {
          arrival = p.add_transfer({}, p.add_flow({}), m.latency);
          p.add_dependency(t, arrival);
        }
        if (m.to != m.from) now[m.from].push_back(round.pipelined ? t : arrival);
        now[m.to].push_back(arrival);
      }
      for (std::uint32_t m = 0; m < e.members; ++m) {
        if (now[m].empty()) continue;
        // A pipelined message does not wait for its receiver, which may be in an earlier round when it arrives.
        if (round.pipelined) now[m].insert(now[m].end(), before[m].begin(), before[m].end());
        before[m] = now[m];
      }
    }
  }
  return execute(p).end;
}

Exchange random_exchange(testing::Random& random, int resources) {
  Exchange e{static_cast<std::uint32_t>(random.whole(1, 6)), SimTime{random.whole(0, 3) * kMicrosecond}, {}};
  const int last = static_cast<int>(e.members) - 1;
  for (int r = random.whole(0, 4); r > 0; --r) {
    Round round{random.whole(0, 3), SimTime{random.whole(0, 2) * kMicrosecond}, {}, random.whole(0, 1) == 0};
    for (int m = random.whole(0, 6); m > 0; --m) {
      Flow flow = random.flow(resources, 3);
      for (Weight& w : flow.weights) w.bytes *= 1e-6;
      if (random.whole(0, 9) == 0) flow.weights.clear();
      round.messages.push_back({static_cast<std::uint32_t>(random.whole(0, last)),
                                static_cast<std::uint32_t>(random.whole(0, last)), std::move(flow),
                                SimTime{std::max(0, random.whole(-3, 3)) * kMicrosecond}});
    }
    e.rounds.push_back(std::move(round));
  }
  return e;
}

}  // namespace

// 7 steps of 3 us latency and 10 bytes at 2 bytes/us: 7 * (3 + 5) us.
TEST_CASE("a ring takes its steps one after the other", "[sim]") {
  const ExchangeRun run = run_exchanges(std::vector<double>(8, 2e6), {ring(8, 7, 10, {3 * kMicrosecond})});
  CHECK(run.end.ps == 7 * 8 * kMicrosecond);
  CHECK(run.messages == 56);
}

// One link at half speed: 10 us a step there, and every other member waits for it.
TEST_CASE("a slow link holds up the whole ring", "[sim]") {
  std::vector<double> capacity(8, 2e6);
  capacity[3] = 1e6;
  CHECK(run_exchanges(capacity, {ring(8, 7, 10)}).end.ps == 7 * 10 * kMicrosecond);
}

// Two rings on the same links: each message has half a link, 10 us a step; both end after 7 steps. A third
// that starts when they are done is alone.
TEST_CASE("two rings on one column, message by message", "[sim]") {
  const ExchangeRun run = run_exchanges(
      std::vector<double>(8, 2e6), {ring(8, 7, 10), ring(8, 7, 10), ring(8, 7, 10, {}, {70 * kMicrosecond})});
  CHECK(run.ended[0].ps == 70 * kMicrosecond);
  CHECK(run.ended[1].ps == 70 * kMicrosecond);
  CHECK(run.end.ps == 105 * kMicrosecond);
}

// A ring of 8 whose last link is in flight for 20 us; 5 us a transfer. Pipelined, a piece that starts behind
// that link passes 7 of the 8 links, at most this one: 7 * 5 + 20. Else each step waits for the flight before
// it: 7 * 25.
TEST_CASE("messages in flight do not hold up their link", "[sim]") {
  Exchange e = ring(8, 7, 10);
  e.rounds[0].messages[7].latency = SimTime{20 * kMicrosecond};
  CHECK(run_exchanges(std::vector<double>(8, 2e6), {e}).end.ps == 7 * 25 * kMicrosecond);
  e.rounds[0].pipelined = true;
  CHECK(run_exchanges(std::vector<double>(8, 2e6), {e}).end.ps == (7 * 5 + 20) * kMicrosecond);
}

// A member that sends nothing but receives, and one that sends to itself; many at once in flight.
TEST_CASE("edges of a pipelined round", "[sim]") {
  Round round{1000, SimTime{2}, {{0, 1, {}, SimTime{7}}}, true};
  const ExchangeRun run = run_exchanges({1}, {{2, {}, {round}}});
  CHECK(run.end.ps == 1000 * 2 + 7);
  CHECK(run.messages == 1000);
  round.messages = {{0, 0, {}, SimTime{7}}};
  CHECK(run_exchanges({1}, {{1, {}, {round}}}).end.ps == 1000 * 9);
  // The receiver comes to the round when all has arrived.
  const Round before{1, SimTime{1'000'000}, {{1, 1, {}, {}}}};
  round.messages = {{0, 1, {}, SimTime{7}}};
  const Round after{1, SimTime{5}, {{0, 1, {}, {}}}};
  const Exchange late{2, {}, {before, round, after}};
  CHECK(run_exchanges({1}, {late}).end.ps == 1'000'005);
  CHECK(as_tasks({1}, late).ps == 1'000'005);
  round.messages[0].latency = SimTime{-1};
  CHECK_THROWS_AS(run_exchanges({1}, {{2, {}, {round}}}), std::invalid_argument);
}

TEST_CASE("edges of an exchange", "[sim]") {
  CHECK(run_exchanges({}, {}).end.ps == 0);
  CHECK(run_exchanges({1}, {{0, {5}, {}}}).ended[0].ps == 5);  // nobody: ends as it starts
  SECTION("a message to itself, and one without bytes, pass after their latency") {
    const ExchangeRun run = run_exchanges({1}, {{1, {}, {{3, SimTime{4}, {{0, 0, {}}}}}}});
    CHECK(run.end.ps == 12);
    CHECK(run.messages == 3);
  }
  SECTION("many repeats without any time do not recurse") {
    CHECK(run_exchanges({1}, {{2, {}, {{1'000'000, {}, {{0, 1, {}}}}}}}).messages == 1'000'000);
  }
  SECTION("misuse") {
    CHECK_THROWS_AS(run_exchanges({0}, {}), std::invalid_argument);
    CHECK_THROWS_AS(run_exchanges({1}, {{1, {}, {{1, {}, {{0, 1, {}}}}}}}), std::invalid_argument);
    CHECK_THROWS_AS(run_exchanges({1}, {{1, {}, {{1, {}, {{0, 0, {{{1, 1}}}}}}}}}), std::invalid_argument);
    CHECK_THROWS_AS(run_exchanges({1}, {{1, {}, {{-1, {}, {}}}}}), std::invalid_argument);
    const Round twice{1, {}, {{0, 0, {{{0, 1}, {0, 1}}}}}};
    CHECK_THROWS_AS(run_exchanges({1}, {{1, {}, {twice}}}), std::invalid_argument);
  }
  SECTION("beyond the clock") {
    CHECK_THROWS_AS(run_exchanges({1}, {ring(1, 1, 0x1p50)}), std::overflow_error);
  }
}

TEST_CASE("messages made as they are due are those of the whole program", "[sim][property]") {
  int messages = 0;
  std::vector<unsigned> all = seeds(1, 300);
  // In these a message arrives while its receiver is in an earlier round.
  all.insert(all.end(), {424, 1000919, 1001246, 1001323, 1001461, 1001506, 1001759, 1002754});
  for (const unsigned seed : all) {
    CAPTURE(seed);
    testing::Random random(seed);
    const std::vector<double> capacity = random.capacities(5);
    Exchange e = random_exchange(random, 5);
    e.start = {};
    const ExchangeRun run = run_exchanges(capacity, {e});
    messages += static_cast<int>(run.messages);
    CHECK(run.end == as_tasks(capacity, e));
  }
  CHECK(messages > at_least(1000));
}

TEST_CASE("same input, same digest, alone and during another simulation", "[sim]") {
  testing::Random random(7);
  const std::vector<double> capacity = random.capacities(6);
  std::vector<Exchange> exchanges;
  for (int i = 0; i < 5; ++i) exchanges.push_back(random_exchange(random, 6));
  exchanges.push_back(ring(6, 50, 3e-6));
  const std::uint64_t digest = run_exchanges(capacity, exchanges).digest;
  std::vector<Exchange> others = exchanges;
  others.back().start = {1};
  CHECK(run_exchanges(capacity, others).digest != digest);
  int different = 0;
  for (int i = 0; i < 50; ++i) different += run_exchanges(capacity, exchanges).digest != digest;
  const auto repeat = [&](int& wrong) {
    for (int i = 0; i < 50; ++i) wrong += run_exchanges(capacity, exchanges).digest != digest;
  };
  int here = 0, there = 0;
  std::thread other([&] { repeat(there); });
  repeat(here);
  other.join();
  CHECK(different + here + there == 0);
}

// Parts of a random exchange on resources of their own, in a ring: what a part sends on goes to the next.
TEST_CASE("parts that are the same are run as one, to the tick of every message", "[sim][property]") {
  int folded = 0;
  for (const unsigned seed : seeds(1, 200)) {
    CAPTURE(seed);
    testing::Random random(seed);
    const auto parts = static_cast<std::uint32_t>(random.whole(2, 5));
    const std::vector<double> of_part = random.capacities(4);
    std::vector<double> capacity;
    for (std::uint32_t p = 0; p < parts; ++p) capacity.insert(capacity.end(), of_part.begin(), of_part.end());
    Exchange one = random_exchange(random, 4);
    const std::uint32_t run = one.members;
    Exchange e{run * parts, one.start, {}, parts, run};
    for (const Round& round : one.rounds) {
      Round all{round.repeat, round.latency, {}, round.pipelined};
      const bool onward = random.whole(0, 1) == 0;
      for (std::uint32_t p = 0; p < parts; ++p) {
        for (Message m : round.messages) {
          const std::uint32_t next = onward ? (p + 1) % parts : p;
          m.from += p * run;
          m.to += next * run;
          for (Weight& w : m.flow.weights)  // half of what it uses is the receiver's
            w.resource += 4 * (w.resource % 2 == 0 ? p : next);
          std::sort(m.flow.weights.begin(), m.flow.weights.end(),
                    [](const Weight& a, const Weight& b) { return a.resource < b.resource; });
          all.messages.push_back(std::move(m));
        }
      }
      e.rounds.push_back(std::move(all));
    }
    const ExchangeRun apart = run_exchanges(capacity, {e}, Folding::never),
                      together = run_exchanges(capacity, {e});
    CHECK(together.end == apart.end);
    CHECK(together.ended == apart.ended);
    CHECK(together.messages == apart.messages);
    CHECK(together.digest == apart.digest);
    folded += together.events < apart.events;
    // One message that differs, and every part is run.
    for (Round& round : e.rounds) {
      if (round.messages.empty()) continue;
      round.messages.front().latency += SimTime{kMicrosecond};
      CHECK(run_exchanges(capacity, {e}).events == run_exchanges(capacity, {e}, Folding::never).events);
      break;
    }
  }
  CHECK(folded > at_least(40));  // others have nothing to do, or a message that would be to itself
}

TEST_CASE("a link's capacity is never exceeded, at any instant", "[sim][property]") {
  double most = 0;
  for (const unsigned seed : seeds(1, 60)) {
    testing::Random random(seed);
    const std::vector<double> capacity = random.capacities(6);
    Program p;
    for (const double c : capacity) p.add_resource("r", BytesPerSecond(c));
    for (int t = 0; t < 40; ++t) {
      p.add_transfer({}, p.add_flow(random.flow(6, 4).weights),
                     SimTime{random.whole(0, 9) * 100'000'000'000});
    }
    std::vector<double> rate(p.tasks().size(), 0), used(capacity.size());
    SimTime last{-1};
    const auto account = [&] {
      std::fill(used.begin(), used.end(), 0);
      for (std::size_t t = 0; t < rate.size(); ++t) {
        for (const Weight& w : p.flows()[p.tasks()[t].flow].weights) used[w.resource] += rate[t] * w.bytes;
      }
      for (std::size_t r = 0; r < used.size(); ++r) most = std::max(most, used[r] / capacity[r]);
    };
    execute(p, [&](SimTime at, TaskId t, double x) {
      if (at > last) account();  // what held until now
      last = at;
      rate[t] = x;
    });
  }
  CHECK(most <= 1 + 1e-12);
  CHECK(most > 0.999);
}
