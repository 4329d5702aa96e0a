// Resources that only the tasks of one device use: the executor leaves most of their parts out.
#include <cstdint>
#include <tuple>
#include <vector>

#include "sim/executor.h"
#include "tests/catch.h"
#include "tests/seeds.h"
#include "tests/sim/random_flows.h"

using namespace trnplan;
using namespace trnplan::sim;

// Catches parts of flows that are dropped though somebody waits for them: the same programs, in which a task without
// a device keeps every resource open, must run alike.
TEST_CASE("resources of one device's tasks are left out without a trace", "[sim][property]") {
  for (const unsigned seed : seeds(1, 200)) {
    trnplan::sim::testing::Random random(seed);
    const std::vector<double> capacity = random.capacities(8);
    Program open;
    for (const double c : capacity) open.add_resource({}, BytesPerSecond(c));
    constexpr int kDevices = 3;
    for (int d = 0; d < kDevices; ++d) open.add_device({});
    const auto add = [&](const std::vector<DeviceId>& devices, const Flow& flow, std::int64_t latency) {
      open.add_transfer(devices, open.add_flow(flow.weights, flow.scale), {latency});
    };
    for (int i = 0; i < 30; ++i) {
      const auto d = static_cast<DeviceId>(random.whole(0, kDevices - 1));
      Flow flow = random.flow(2, 2);
      for (Weight& w : flow.weights) w.resource += 2 * d;  // the device's own
      if (random.whole(0, 1) == 1)
        flow.weights.push_back({6 + static_cast<ResourceId>(random.whole(0, 1)), 1e3});
      add({d}, flow, random.whole(0, 2000));
    }
    for (int again = 0; again < 5; ++again) open.add_again(0, 30);
    Program closed = open;
    Flow all;
    for (ResourceId r = 0; r < capacity.size(); ++r) all.weights.push_back({r, 1});
    const auto last = static_cast<TaskId>(open.tasks().size() - 1);
    add({}, all, 0);
    for (TaskId t = 0; t <= last; ++t) open.add_dependency(t, last + 1);
    std::vector<std::tuple<std::int64_t, TaskId, double>> rates[2];
    const Run runs[2] = {
        execute(closed, [&](SimTime at, TaskId t, double rate) { rates[0].emplace_back(at.ps, t, rate); }),
        execute(open, [&](SimTime at, TaskId t, double rate) {
          if (t <= last) rates[1].emplace_back(at.ps, t, rate);
        })};
    CAPTURE(seed);
    for (TaskId t = 0; t <= last; ++t) CHECK(runs[0].ended[t] == runs[1].ended[t]);
    CHECK(rates[0] == rates[1]);
  }
}
