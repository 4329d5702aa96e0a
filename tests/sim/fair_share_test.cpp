#include "sim/fair_share.h"

#include <limits>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>

#include "tests/catch.h"

using namespace trnplan::sim;

namespace {

std::vector<double> rates(const std::vector<Flow>& flows, const std::vector<double>& capacity) {
  std::vector<const Flow*> active;
  for (const Flow& f : flows) active.push_back(&f);
  return fair_rates(active, capacity);
}

}  // namespace

TEST_CASE("flows worked out by hand", "[sim]") {
  SECTION("alone: the tightest resource decides") {
    // 10 bytes over 5 B/s takes 2 s, 1 byte over 1 B/s takes 1 s: rate 1/2.
    CHECK(rates({{{{0, 10}, {1, 1}}}}, {5, 1}) == std::vector<double>{0.5});
  }
  SECTION("two equal flows halve the link") {
    CHECK(rates({{{{0, 10}}}, {{{0, 10}}}}, {20}) == std::vector<double>{1, 1});
  }
  SECTION("a short and a long flow get the same bytes per second") {
    // Fair in x*max(w): both move 10 B/s, so x = 10/10 and 10/40.
    CHECK(rates({{{{0, 10}}}, {{{0, 40}}}}, {20}) == std::vector<double>{1, 0.25});
  }
  SECTION("what a bottlenecked flow leaves goes to the others") {
    // Links A = 1, B = 2. Flow 0 uses A and B, flow 1 uses A, flow 2 uses B.
    // A: 0.5 each for flows 0 and 1. B: 2 - 0.5 = 1.5 for flow 2.
    const auto x = rates({{{{0, 1}, {1, 1}}}, {{{0, 1}}}, {{{1, 1}}}}, {1, 2});
    CHECK(x[0] == 0.5);
    CHECK(x[1] == 0.5);
    CHECK(x[2] == Approx(1.5).epsilon(1e-14));
  }
  SECTION("a flow without weights is not limited") {
    CHECK(rates({{{}}, {{{0, 1}}}}, {1}) == std::vector<double>{std::numeric_limits<double>::infinity(), 1});
  }
}

// Two rings on one torus column of 4 chips: 8 directed links of 50 bytes/s, each ring loads each with 100
// bytes. Alone a ring takes 2 s; both at once share every link and take 4 s.
TEST_CASE("two rings on one column", "[sim]") {
  Flow ring;
  for (ResourceId link = 0; link < 8; ++link) ring.weights.push_back({link, 100});
  const std::vector<double> capacity(8, 50);
  CHECK(rates({ring}, capacity) == std::vector<double>{0.5});
  CHECK(rates({ring, ring}, capacity) == std::vector<double>{0.25, 0.25});
}

// 32 cores send 1 byte each through 8 NICs of 1 B/s, 4 cores a NIC: each core gets 1/4 B/s.
TEST_CASE("32 cores on 8 NICs", "[sim]") {
  std::vector<Flow> flows;
  for (ResourceId core = 0; core < 32; ++core) flows.push_back({{{core / 4, 1}}});
  for (const double rate : rates(flows, std::vector<double>(8, 1))) CHECK(rate == 0.25);
}

TEST_CASE("random flows: no resource above capacity, every flow stopped by a full one", "[sim][property]") {
  constexpr unsigned kSeed = 20261121;
  INFO("seed " << kSeed);
  boost::random::mt19937 random(kSeed);
  boost::random::uniform_int_distribution<int> count(1, 12), which(0, 9);
  boost::random::uniform_real_distribution<double> size(0.1, 100);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> capacity(10);
    for (double& c : capacity) c = size(random);
    std::vector<Flow> flows(static_cast<std::size_t>(count(random)));
    for (Flow& f : flows) {
      std::vector<double> bytes(10, 0);
      for (int i = count(random); i > 0; --i) bytes[static_cast<std::size_t>(which(random))] += size(random);
      for (ResourceId r = 0; r < 10; ++r) {
        if (bytes[r] > 0) f.weights.push_back({r, bytes[r]});
      }
    }
    const auto x = rates(flows, capacity);
    std::vector<double> used(10, 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const Weight& w : flows[f].weights) used[w.resource] += w.bytes * x[f];
    }
    for (std::size_t r = 0; r < 10; ++r) CHECK(used[r] <= capacity[r] * (1 + 1e-14));
    for (const Flow& f : flows) {
      const bool stopped = std::any_of(f.weights.begin(), f.weights.end(), [&](const Weight& w) {
        return used[w.resource] >= capacity[w.resource] * (1 - 1e-9);
      });
      CHECK(stopped);
    }
  }
}
