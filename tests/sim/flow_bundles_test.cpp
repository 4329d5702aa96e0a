// Flows that are solved as one and share a clock: when that happens moves no end and no order.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/executor.h"
#include "tests/catch.h"
#include "tests/seeds.h"
#include "tests/sim/random_flows.h"

using namespace trnplan;
using namespace trnplan::sim;

// n flows of sizes s_1 <= s_2 <= ... from time zero share a link equally: flow k ends
// (s_k - s_(k-1)) (n - k + 1) / C after flow k - 1. Catches what adds up over a thousand changes of a rate, and
// a clock that is not the flow's own.
TEST_CASE("a thousand flows of different sizes on one link end when they should", "[sim]") {
  constexpr int kFlows = 1000;
  constexpr double kRate = 1e9;
  testing::Random random(1);
  std::vector<double> bytes;
  for (int f = 0; f < kFlows; ++f) bytes.push_back(random.whole(1'000'000, 100'000'000));
  Program p;
  const ResourceId link = p.add_resource("link", BytesPerSecond(kRate));
  for (const double b : bytes) p.add_transfer({}, p.add_flow({{link, b}}), {});
  const Run run = execute(p);
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] < bytes[b]; });
  double end = 0, before = 0;
  int wrong = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    end += (bytes[order[k]] - before) * static_cast<double>(order.size() - k) / kRate;
    before = bytes[order[k]];
    wrong +=
        std::abs(to_seconds(run.ended[order[k]]).value - end) > 1e-12 * end + 2e-12 * static_cast<double>(k);
  }
  CHECK(wrong == 0);
}

// Links that stop nobody make other bundles at other times, which must not move an end by a tick.
TEST_CASE("links that are wide enough change no end", "[sim][property]") {
  for (const unsigned seed : seeds(1, 20)) {
    CAPTURE(seed);
    testing::Random random(seed);
    constexpr int kFlows = 300, kHosts = 40;
    Program bare, with_hosts;
    for (Program* p : {&bare, &with_hosts}) p->add_resource("spine", BytesPerSecond(3e9));
    for (int h = 0; h < kHosts; ++h) with_hosts.add_resource("host", BytesPerSecond(random.real(3.1e9, 9e9)));
    for (int f = 0; f < kFlows; ++f) {
      const double bytes = random.real(1e6, 1e8);
      const SimTime start{seed % 2 == 0 ? 0 : random.whole(0, 1000) * 10'000'000'000};
      bare.add_transfer({}, bare.add_flow({{0, bytes}}), start);
      const auto host = static_cast<ResourceId>(random.whole(1, kHosts));
      with_hosts.add_transfer({}, with_hosts.add_flow({{0, bytes}, {host, bytes}}), start);
    }
    CHECK(execute(bare).ended == execute(with_hosts).ended);
  }
}

// Flows on links of their own change when others are solved as one, and nothing else: catches a clock, a ceiling or a
// noted change that is lost when bundles split or join.
TEST_CASE("flows elsewhere change no end and no order of rates", "[sim][property]") {
  for (const unsigned seed : seeds(1, 20)) {
    CAPTURE(seed);
    testing::Random random(seed);
    constexpr int kFlows = 400, kElsewhere = 300, kHosts = 40;
    constexpr std::int64_t kStep = 10'000'000'000;
    Program alone, busy;
    const auto resource = [&](double capacity) {
      for (Program* p : {&alone, &busy}) p->add_resource({}, BytesPerSecond(capacity));
    };
    for (int h = 0; h < kHosts; ++h) resource(1e8 * random.whole(2, 40));
    for (const double spine : {3e9, 3e9, 4e9, 4e9}) resource(spine);
    for (int f = 0; f < kFlows; ++f) {
      const double bytes = seed % 2 == 0 ? 1e7 * random.whole(1, 4) : 1e6 * random.whole(1, 100);
      const auto host = static_cast<ResourceId>(random.whole(0, kHosts - 1)),
                 spine = static_cast<ResourceId>(kHosts + random.whole(0, 1));
      const SimTime start{random.whole(0, 100) * kStep};
      for (Program* p : {&alone, &busy})
        p->add_transfer({}, p->add_flow({{host, bytes}, {spine, bytes}}), start);
    }
    for (int f = 0; f < kElsewhere; ++f) {
      const auto spine = static_cast<ResourceId>(kHosts + 2 + f % 2);
      const double bytes = 1e7 * random.whole(1, 100);
      busy.add_transfer({}, busy.add_flow({{spine, bytes}}), SimTime{random.whole(0, 100) * kStep});
    }
    const auto observed = [](const Program& p) {
      std::vector<std::tuple<std::int64_t, TaskId, double>> rates;
      Run run = execute(p, [&](SimTime at, TaskId task, double rate) {
        if (task < kFlows) rates.emplace_back(at.ps, task, rate);
      });
      run.ended.resize(kFlows);
      return std::pair(std::move(run.ended), std::move(rates));
    };
    CHECK(observed(alone) == observed(busy));
  }
}
