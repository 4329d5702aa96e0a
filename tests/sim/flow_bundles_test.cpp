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

namespace {

/// An all-to-all of uneven flows between hosts, each with a link out and one in; from zero, or one after the other.
/// `hosts` says which links are whose.
Program uneven_all_to_all(const std::vector<ResourceId>& hosts, unsigned seed) {
  testing::Random random(seed);
  const auto count = static_cast<ResourceId>(hosts.size());
  Program p;
  for (ResourceId r = 0; r < 2 * count; ++r) p.add_resource({}, BytesPerSecond(1e9));
  for (ResourceId from = 0; from < count; ++from) {
    for (ResourceId to = 0; to < count; ++to) {
      if (from == to) continue;
      const double bytes = seed % 3 == 0 ? 1e6 * random.whole(1, 100) : random.real(1e6, 1e8);
      const double in = seed % 4 == 0 ? 0.9 * bytes : bytes;
      const SimTime start{seed % 2 == 0 ? 0 : 2'000'000'000ll * random.whole(0, 100)};
      p.add_transfer({}, p.add_flow({{hosts[from], bytes}, {count + hosts[to], in}}), start);
    }
  }
  return p;
}

}  // namespace

// Flows that the same link stops share a clock for as long as it does: catches one that is read at another time than
// it was set, and a flow that leaves with the wrong one.
TEST_CASE("flows of an uneven all-to-all move at the rates that are reported", "[sim][property]") {
  for (const unsigned seed : seeds(1, 12)) {
    CAPTURE(seed);
    std::vector<ResourceId> hosts(20);
    std::iota(hosts.begin(), hosts.end(), ResourceId{0});
    const Program p = uneven_all_to_all(hosts, seed);
    struct Course {
      SimTime since;
      double rate = 0, moved = 0, most = 0;
      int changes = 0;
    };
    std::vector<Course> courses(p.tasks().size());
    const Run run = execute(p, [&](SimTime at, TaskId task, double rate) {
      Course& c = courses[task];
      c.moved += c.rate * to_seconds(at - c.since).value;
      c.since = at;
      c.rate = rate;
      c.most = std::max(c.most, rate);
      ++c.changes;
    });
    std::size_t old = 0;
    int wrong = 0;
    for (const Course& c : courses) {
      old += c.changes > 50;
      wrong += std::abs(c.moved - 1) > 1e-11 + 2e-12 * c.most;  // an end is rounded up to a tick
    }
    CHECK(wrong == 0);
    CHECK(old > courses.size() / 4);  // long past the age from which on they share
    CHECK(run.ended == execute(p).ended);
  }
}

TEST_CASE("which links are whose changes no end of an uneven all-to-all", "[sim][property]") {
  for (const unsigned seed : seeds(1, 12)) {
    CAPTURE(seed);
    testing::Random random(seed + 1000);
    std::vector<ResourceId> hosts(20);
    std::iota(hosts.begin(), hosts.end(), ResourceId{0});
    const Run run = execute(uneven_all_to_all(hosts, seed));
    for (int i = 19; i > 0; --i)
      std::swap(hosts[static_cast<std::size_t>(i)], hosts[static_cast<std::size_t>(random.whole(0, i))]);
    CHECK(run.ended == execute(uneven_all_to_all(hosts, seed)).ended);
  }
}
