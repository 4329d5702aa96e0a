// The event queue and the executor alone.
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>
#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "sim/event_queue.h"
#include "sim/exchange.h"
#include "sim/executor.h"
#include "sim/program.h"

namespace {

using namespace trnplan;
using namespace trnplan::sim;

/// Schedule and pop with 1,000 events pending.
void event_queue(benchmark::State& state) {
  EventQueue<int> queue;
  std::int64_t stir = 1;
  for (int i = 0; i < 1000; ++i) queue.schedule({i}, Phase::completion, i);
  for (auto _ : state) {
    const auto event = queue.pop();
    stir = stir * 6364136223846793005 + 1442695040888963407;
    queue.schedule(event.moment.at + SimTime{(stir >> 33) & 1023}, Phase::completion, event.payload);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(event_queue);

/// A pipeline of work and rendezvous transfers that share one link.
void executor(benchmark::State& state) {
  Program program;
  const ResourceId link = program.add_resource("link", gigabytes_per_second(10));
  const FlowId flow = program.add_flow({{link, 1e6}});
  constexpr int kDevices = 8, kRounds = 1000;
  for (int d = 0; d < kDevices; ++d) program.add_device("d");
  for (int r = 0; r < kRounds; ++r) {
    for (DeviceId d = 0; d < kDevices; ++d) {
      program.add_work(d, SimTime{1000 * (d + 1)});
      if (d > 0) program.add_transfer({d - 1, d}, flow, SimTime{10});
    }
  }
  std::uint64_t events = 0;
  for (auto _ : state) events += execute(program).events;
  state.counters["events/s"] = benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}
BENCHMARK(executor)->Unit(benchmark::kMillisecond);

/// All-reduce of 64 MiB over a ring of `members`, each step of each member a message of its own: 2 (N-1) N
/// messages. Links of 10 GB/s, 1 us.
void ring_message_by_message(benchmark::State& state) {
  const auto members = static_cast<std::uint32_t>(state.range(0));
  Round round{2 * (members - 1), SimTime{1'000'000}, {}};
  for (std::uint32_t m = 0; m < members; ++m) {
    round.messages.push_back({m, (m + 1) % members, Flow{{{m, 64.0 * 1024 * 1024 / members}}}});
  }
  const std::vector<double> capacity(members, 10e9);
  const std::vector<Exchange> exchanges{{members, {}, {round}}};
  std::uint64_t messages = 0;
  for (auto _ : state) messages += run_exchanges(capacity, exchanges).messages;
  state.counters["messages/s"] =
      benchmark::Counter(static_cast<double>(messages), benchmark::Counter::kIsRate);
}
BENCHMARK(ring_message_by_message)->Arg(16)->Arg(1024)->Unit(benchmark::kMillisecond);

/// A route on a torus of `size` x `size` nodes, each with one link to each neighbour (+x, -x, +y, -y): first
/// along x, then along y, each the shorter way round.
std::vector<Weight> torus_route(int size, int from, int to, double bytes) {
  std::vector<Weight> weights;
  int x = from % size, y = from / size;
  const auto walk = [&](int& position, int goal, int direction) {
    const bool forward = 2 * ((goal - position + size) % size) <= size;
    while (position != goal) {
      const int link = 4 * (y * size + x) + direction + (forward ? 0 : 1);
      weights.push_back({static_cast<ResourceId>(link), bytes});
      position = (position + (forward ? 1 : size - 1)) % size;
    }
  };
  walk(x, to % size, 0);
  walk(y, to / size, 2);
  return weights;
}

/// 10 rounds on a torus of 32 x 32: every node sends 1 GB over links of 10 GB/s to the node that a random
/// permutation gives it (seldom itself: done at once); a round starts when the one before has ended.
void random_permutation_torus(benchmark::State& state) {
  constexpr int kSize = 32, kNodes = kSize * kSize, kRounds = 10;
  boost::random::mt19937 random(1);
  Program program;
  for (int link = 0; link < 4 * kNodes; ++link) program.add_resource("link", gigabytes_per_second(10));
  const DeviceId round = program.add_device("round");
  std::vector<TaskId> last;
  for (int r = 0; r < kRounds; ++r) {
    const TaskId begin = program.add_work(round, SimTime{0});
    for (const TaskId task : last) program.add_dependency(task, begin);
    last.clear();
    std::vector<int> to(kNodes);
    std::iota(to.begin(), to.end(), 0);
    for (int i = kNodes - 1; i > 0; --i) {
      const int other = boost::random::uniform_int_distribution<int>(0, i)(random);
      std::swap(to[static_cast<std::size_t>(i)], to[static_cast<std::size_t>(other)]);
    }
    for (int from = 0; from < kNodes; ++from) {
      const FlowId flow = program.add_flow(torus_route(kSize, from, to[static_cast<std::size_t>(from)], 1e9));
      last.push_back(program.add_transfer({}, flow, SimTime{0}));
      program.add_dependency(begin, last.back());
    }
  }
  double simulated = 0;
  for (auto _ : state) simulated = to_seconds(execute(program).end).value;
  state.counters["flows/s"] = benchmark::Counter(static_cast<double>(kRounds * kNodes),
                                                 benchmark::Counter::kIsIterationInvariantRate);
  state.counters["simulated_s"] = simulated;
}
BENCHMARK(random_permutation_torus)->Unit(benchmark::kMillisecond);

}  // namespace
