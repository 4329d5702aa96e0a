// The event queue and the executor alone.
#include <benchmark/benchmark.h>

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
    queue.schedule(event.at + SimTime{(stir >> 33) & 1023}, Phase::completion, event.payload);
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

}  // namespace
