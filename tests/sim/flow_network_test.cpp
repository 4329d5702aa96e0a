#include "sim/flow_network.h"

#include <algorithm>
#include <deque>

#include "sim/fair_share.h"
#include "tests/catch.h"
#include "tests/seeds.h"
#include "tests/sim/random_flows.h"

using namespace trnplan;
using namespace trnplan::sim;

namespace {

/// A network, and the flows that it should contain.
struct Twin {
  std::vector<double> capacity;
  FlowNetwork network;
  std::deque<std::pair<FlowNetwork::Handle, Flow>> active;

  explicit Twin(std::vector<double> c) : capacity(std::move(c)), network(capacity) {}

  void add(Flow f) {
    const FlowNetwork::Handle h = network.add(f);
    active.emplace_back(h, std::move(f));
  }
  void remove(std::size_t i) {
    network.remove(active[i].first);
    active.erase(active.begin() + static_cast<std::ptrdiff_t>(i));
  }
  /// Flows whose rate is not that of the solver from scratch, bit by bit.
  int wrong() const {
    std::vector<const Flow*> flows;
    for (const auto& [h, f] : active) flows.push_back(&f);
    const std::vector<double> expected = fair_rates(flows, capacity);
    int count = 0;
    for (std::size_t i = 0; i < active.size(); ++i) count += network.rate(active[i].first) != expected[i];
    return count;
  }
};

}  // namespace

TEST_CASE("the incremental solver equals the one from scratch, to the last bit, after 10,000 random changes",
          "[sim][property]") {
  constexpr unsigned kSeed = 20261121;
  INFO("seed " << kSeed);
  int changes = 0, wrong = 0, several_at_once = 0;
  for (unsigned world = 0; changes < 10'000; ++world) {
    trnplan::sim::testing::Random random(kSeed + world);
    const int resources = random.whole(1, 24);
    const bool equal = world % 4 == 0;  // equal capacities: many ties
    Twin twin(equal ? std::vector<double>(static_cast<std::size_t>(resources), 7.0)
                    : random.capacities(resources));
    for (int step = 0; step < 100; ++step) {
      const int batch = random.whole(1, 3);
      several_at_once += batch > 1;
      for (int i = 0; i < batch; ++i, ++changes) {
        const auto count = static_cast<int>(twin.active.size());
        if (count > 0 && random.whole(0, 40) < count) {
          twin.remove(static_cast<std::size_t>(random.whole(0, count - 1)));
        } else {
          twin.add(random.flow(resources, 4));
        }
      }
      twin.network.settle();
      wrong += twin.wrong();
    }
  }
  CHECK(wrong == 0);
  CHECK(several_at_once > 1000);
}

// Link A of capacity a carries one flow, link B of capacity n a all n of them: every flow stops at level a,
// on two resources at once. When the first leaves, the others must have B to themselves.
TEST_CASE("flows that tie on resources of different size", "[sim]") {
  int wrong = 0;
  for (const double a : {0.1, 3.0, 21.547220324259253, 1.0 / 3}) {
    for (int n = 2; n <= 200; ++n) {
      Twin twin({a, n * a});
      twin.add({{{0, 1}, {1, 1}}});
      for (int i = 1; i < n; ++i) twin.add({{{1, 1}}});
      twin.network.settle();
      wrong += twin.wrong();
      twin.remove(0);
      twin.network.settle();
      wrong += twin.wrong();
      CHECK(twin.network.rate(twin.active[0].first) == Approx(n * a / (n - 1)).epsilon(1e-12));
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("hubs and spokes with ties everywhere", "[sim][property]") {
  int wrong = 0;
  for (const unsigned seed : seeds(1, 60)) {
    trnplan::sim::testing::Random random(seed);
    const int spokes = random.whole(3, 60);
    const double a = random.real(0.1, 50);
    std::vector<double> capacity(static_cast<std::size_t>(spokes), a);
    capacity.push_back(a * spokes);
    capacity.push_back(a * spokes / 2);
    Twin twin(capacity);
    for (int step = 0; step < 150; ++step) {
      const auto count = static_cast<int>(twin.active.size());
      if (count > 0 && random.whole(0, 2 * spokes) < count) {
        twin.remove(static_cast<std::size_t>(random.whole(0, count - 1)));
      } else {
        const auto hub = static_cast<ResourceId>(spokes + random.whole(0, 1));
        twin.add({{{static_cast<ResourceId>(random.whole(0, spokes - 1)), 1}, {hub, 1}}});
      }
      twin.network.settle();
      wrong += twin.wrong();
    }
  }
  CHECK(wrong == 0);
}

// Catches a resource that is left out though it stops somebody, and flows solved as one that are not alike.
TEST_CASE("flows in bundles have the rates of the solver from scratch, to the last bit", "[sim][property]") {
  int wrong = 0, together = 0;
  for (const unsigned seed : seeds(1, 40)) {
    trnplan::sim::testing::Random random(seed);
    const int spokes = random.whole(20, 120);
    std::vector<double> capacity(static_cast<std::size_t>(spokes), 1);
    if (seed % 2 == 0) capacity = random.capacities(spokes);
    for (const double hub : {spokes / 8.0, spokes / 5.0}) capacity.push_back(hub);
    Twin twin(capacity);
    for (int step = 0; step < 300; ++step) {
      const auto count = static_cast<int>(twin.active.size());
      if (count > 0 && random.whole(0, 3 * spokes) < count) {
        twin.remove(static_cast<std::size_t>(random.whole(0, count - 1)));
      } else {
        const auto hub = static_cast<ResourceId>(spokes + random.whole(0, 1));
        const double bytes = random.real(1, 100);
        twin.add({{{static_cast<ResourceId>(random.whole(0, spokes - 1)), bytes}, {hub, bytes}}});
      }
      twin.network.settle({step}, static_cast<std::uint64_t>(step));
      wrong += twin.wrong();
    }
    for (std::size_t i = 1; i < twin.active.size(); ++i) {
      together += twin.network.bundle(twin.active[i].first) == twin.network.bundle(twin.active[i - 1].first);
    }
  }
  CHECK(wrong == 0);
  CHECK(together > at_least(100));
}

// 2^54 bytes and 0.7: the load of the small resource is rounded, never up beyond its capacity.
TEST_CASE("no resource is used beyond its capacity, however far weights lie apart", "[sim]") {
  const double small = 0.7;
  FlowNetwork network({0x1p54, small});
  const auto f = network.add({{{0, 0x1p54}, {1, small}}});
  network.settle();
  CHECK(network.rate(f) * small <= small * (1 + 1e-15));
  CHECK(network.rate(f) >= 0.8);
}

// One coflow for four equal flows on a NIC, next to a single one: it gets four fifths, as the four would.
TEST_CASE("a coflow that stands for several flows gets what they would get together", "[sim]") {
  FlowNetwork apart({10}), together({10});
  std::vector<FlowNetwork::Handle> four;
  for (int i = 0; i < 4; ++i) four.push_back(apart.add({{{0, 1}}}));
  const auto alone = apart.add({{{0, 3}}});
  const auto coflow = together.add({{{0, 4}}, 1});
  const auto both = together.add({{{0, 3}}});
  apart.settle();
  together.settle();
  CHECK(together.rate(coflow) == apart.rate(four[0]));
  CHECK(together.rate(both) == apart.rate(alone));
  CHECK(apart.rate(four[0]) == 2);
}

TEST_CASE("a change leaves flows alone that do not feel it", "[sim]") {
  // Links A = 1 and B = 10. Two flows on A are stopped at 1/2; a third on A and B too, at 1/3 when it comes.
  // What starts on B alone leaves all of A unchanged.
  FlowNetwork network({1, 10});
  const auto a1 = network.add({{{0, 1}}});
  const auto both = network.add({{{0, 1}, {1, 1}}});
  network.settle();
  CHECK(network.rate(a1) == 0.5);
  CHECK(network.rate(both) == 0.5);
  const auto b = network.add({{{1, 1}}});
  const std::vector<FlowNetwork::BundleId> changed = network.settle();
  CHECK(changed == std::vector<FlowNetwork::BundleId>{network.bundle(b)});
  CHECK(network.rate(b) == Approx(9.5).epsilon(1e-14));
  network.remove(a1);
  CHECK(network.settle().size() == 2);  // `both` speeds up to 1, so `b` slows to 9
  CHECK(network.rate(both) == 1);
  CHECK(network.rate(b) == Approx(9).epsilon(1e-14));
}

TEST_CASE("flows that come and go between two settlements leave no trace", "[sim]") {
  FlowNetwork network({4});
  const auto stays = network.add({{{0, 2}}});
  network.settle();
  network.remove(network.add({{{0, 1}}}));
  CHECK(network.settle().empty());
  CHECK(network.rate(stays) == 2);
  network.remove(stays);
  CHECK(network.settle().empty());
}

TEST_CASE("weights far apart: the small one still limits", "[sim]") {
  // 2^50 bytes over a fast link and 1 byte over a link of 2^-20 bytes/s: the latter takes 2^20 s, the former
  // 1 s.
  FlowNetwork network({0x1p50, 0x1p-20});
  const auto f = network.add({{{0, 0x1p50}, {1, 1}}});
  network.settle();
  CHECK(network.rate(f) == Approx(0x1p-20).epsilon(1e-12));
}
