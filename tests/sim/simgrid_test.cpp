// The same random flows on a torus, here and in SimGrid (https://simgrid.org), must end at the same times.
//
// SimGrid's CM02 shares in the same manner: max-min fair, with each flow limited by its tightest link. The
// additions of its TCP model are switched off: link latencies are zero (its sharing penalty is the route's
// latency), no window (TCP-gamma), no acknowledgements on the return path (crosstraffic). SimGrid allows one
// engine per process, so one run contains all cases side by side; they share no link.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <simgrid/s4u.hpp>

#include "sim/executor.h"
#include "sim/program.h"
#include "tests/catch.h"

using namespace trnplan;
namespace s4u = simgrid::s4u;

namespace {

constexpr unsigned kSeed = 20240817;
constexpr int kCases = 240;
constexpr double kTolerance = 1e-6;
constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;

struct Transfer {
  std::vector<std::size_t> links;
  std::uint64_t bytes = 0;
  std::int64_t start = 0;  ///< microseconds
};

struct Case {
  std::string name;
  std::vector<double> capacity;  ///< bytes/s, per link
  std::vector<Transfer> transfers;
};

/// Seconds, per transfer.
using Ends = std::vector<double>;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return boost::random::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  std::vector<int> permutation(int n) {
    std::vector<int> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    for (int i = n - 1; i > 0; --i) std::swap(order[static_cast<std::size_t>(i)], order[index(i + 1)]);
    return order;
  }
  std::size_t index(int n) { return static_cast<std::size_t>(between(0, n - 1)); }

 private:
  boost::random::mt19937_64 engine_;
};

/// Every node has one link to each neighbour: +x, -x, +y, -y.
struct Torus {
  int width, height;

  int nodes() const { return width * height; }
  static std::size_t link(int node, int direction) { return static_cast<std::size_t>(4 * node + direction); }

  /// First along x, then along y, each the shorter way round (+ when both are equal).
  std::vector<std::size_t> route(int from, int to) const {
    std::vector<std::size_t> links;
    int x = from % width, y = from / width;
    const auto walk = [&](int& position, int goal, int size, int direction) {
      const int ahead = (goal - position + size) % size;
      const bool forward = 2 * ahead <= size;
      while (position != goal) {
        links.push_back(link(y * width + x, direction + (forward ? 0 : 1)));
        position = (position + (forward ? 1 : size - 1)) % size;
      }
    };
    walk(x, to % width, width, 0);
    walk(y, to / width, height, 2);
    return links;
  }
};

/// Two random different nodes; with a `hot` link, only routes over it.
std::vector<std::size_t> random_route(const Torus& torus, Random& random, const std::size_t* hot) {
  while (true) {
    std::vector<std::size_t> links = torus.route(static_cast<int>(random.index(torus.nodes())),
                                                 static_cast<int>(random.index(torus.nodes())));
    if (links.empty()) continue;
    if (hot == nullptr || std::find(links.begin(), links.end(), *hot) != links.end()) return links;
  }
}

/// Sizes are such that a transfer takes at least 60 ms: a tick of the clock, and the 1 ns within which
/// SimGrid takes two events for one, do not count.
Case random_case(int number, Random& random) {
  constexpr std::int64_t kMega = 1'000'000, kMinute = 60'000'000;  // kMinute in microseconds
  const Torus torus{static_cast<int>(random.between(3, 8)), static_cast<int>(random.between(3, 8))};
  const int routes = number % 3;
  const bool equal_links = number / 3 % 2 == 0, equal_sizes = number / 6 % 2 == 0,
             together = number / 12 % 2 == 0;

  Case c;
  c.name = "case " + std::to_string(number) + ": torus " + std::to_string(torus.width) + " x " +
           std::to_string(torus.height) + ", " +
           (routes == 0   ? "random pairs"
            : routes == 1 ? "all over one link"
                          : "a permutation") +
           ", " + (equal_links ? "equal links" : "random links") + ", " +
           (equal_sizes ? "equal sizes" : "random sizes") + ", " +
           (together ? "start together" : "start staggered");

  const auto capacity = [&] { return static_cast<double>(random.between(1000, 16000) * kMega); };
  c.capacity.assign(static_cast<std::size_t>(4 * torus.nodes()), capacity());
  if (!equal_links) std::generate(c.capacity.begin(), c.capacity.end(), capacity);

  std::vector<std::vector<std::size_t>> paths;
  if (routes == 2) {
    const std::vector<int> to = random.permutation(torus.nodes());
    for (int from = 0; from < torus.nodes(); ++from) {
      paths.push_back(torus.route(from, to[static_cast<std::size_t>(from)]));
    }
    std::erase_if(paths, [](const auto& links) { return links.empty(); });
  } else {
    const std::size_t hot = random.index(4 * torus.nodes());
    const std::int64_t count = random.between(1, 60);
    for (std::int64_t i = 0; i < count; ++i) {
      paths.push_back(random_route(torus, random, routes == 1 ? &hot : nullptr));
    }
  }

  const auto bytes = [&] { return static_cast<std::uint64_t>(random.between(1000, 64000) * kMega); };
  const std::uint64_t same = bytes();
  for (auto& links : paths) {
    c.transfers.push_back(
        {std::move(links), equal_sizes ? same : bytes(), together ? 0 : random.between(0, kMinute)});
  }
  return c;
}

/// Two links of 1 and 3 GB/s. A: 4 GB over both, from 0 s. B: 1 GB over the first, from 0 s. C: 8.5 GB over
/// the second, from 1 s.
///   0..1 s  A and B 0.5 GB/s each.
///   1..2 s  C gets 3 - 0.5 = 2.5. B ends at 2 s; A has 3 left, C 6.
///   2..5 s  A 1, C 2. Both end at 5 s.
Case worked_by_hand() {
  return {"worked by hand",
          {1e9, 3e9},
          {{{0, 1}, 4'000'000'000, 0}, {{0}, 1'000'000'000, 0}, {{1}, 8'500'000'000, 1'000'000}}};
}

Ends ends_here(const Case& c) {
  sim::Program program;
  for (const double capacity : c.capacity) program.add_resource("link", BytesPerSecond(capacity));
  for (const Transfer& t : c.transfers) {
    std::vector<sim::Weight> weights;
    for (const std::size_t link : t.links) {
      weights.push_back({static_cast<sim::ResourceId>(link), static_cast<double>(t.bytes)});
    }
    program.add_transfer({}, program.add_flow(std::move(weights)),
                         SimTime{t.start * kPicosecondsPerMicrosecond});
  }
  Ends ends;
  for (const SimTime end : sim::execute(program).ended) ends.push_back(to_seconds(end).value);
  return ends;
}

/// Each transfer has its own pair of hosts, joined by one route that lists its links.
std::vector<Ends> ends_in_simgrid(const std::vector<Case>& cases) {
  std::vector<std::string> arguments{"simgrid_tests",
                                     "--log=root.thresh:error",
                                     "--cfg=contexts/factory:thread",  // the one that sanitizers understand
                                     "--cfg=network/model:CM02",
                                     "--cfg=network/TCP-gamma:0",
                                     "--cfg=network/crosstraffic:0",
                                     "--cfg=maxmin/precision:1e-12"};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  int argc = static_cast<int>(arguments.size());
  s4u::Engine engine(&argc, argv.data());

  struct Pending {
    std::int64_t start;
    std::uint64_t bytes;
    s4u::Host *from, *to;
    double* end;
    s4u::CommPtr comm;
  };
  std::vector<Pending> pending;
  std::vector<Ends> ends;
  for (const Case& c : cases) ends.emplace_back(c.transfers.size());

  s4u::NetZone* world = s4u::create_full_zone("world");
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string zone_name = std::to_string(i);
    s4u::NetZone* zone = s4u::create_full_zone(zone_name)->set_parent(world);
    std::vector<s4u::Link*> links;
    for (const double capacity : cases[i].capacity) {
      links.push_back(zone->create_link(zone_name + " link " + std::to_string(links.size()), capacity)
                          ->set_latency(0)
                          ->seal());
    }
    for (std::size_t t = 0; t < cases[i].transfers.size(); ++t) {
      const Transfer& transfer = cases[i].transfers[t];
      const std::string host_name = zone_name + " transfer " + std::to_string(t);
      s4u::Host* from = zone->create_host(host_name + " from", 1e9)->seal();
      s4u::Host* to = zone->create_host(host_name + " to", 1e9)->seal();
      std::vector<s4u::LinkInRoute> route;
      for (const std::size_t link : transfer.links) route.emplace_back(links[link]);
      zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
      pending.push_back({transfer.start, transfer.bytes, from, to, &ends[i][t], nullptr});
    }
    zone->seal();
  }
  s4u::Host* starter = world->create_host("starter", 1e9)->seal();
  world->seal();

  // One actor starts everything.
  std::stable_sort(pending.begin(), pending.end(),
                   [](const Pending& a, const Pending& b) { return a.start < b.start; });
  s4u::Actor::create("starter", starter, [&pending] {
    for (Pending& p : pending) {
      const double start = static_cast<double>(p.start) * 1e-6;
      if (start > s4u::Engine::get_clock()) s4u::this_actor::sleep_until(start);
      p.comm = s4u::Comm::sendto_async(p.from, p.to, p.bytes);
    }
    for (Pending& p : pending) {
      p.comm->wait();
      *p.end = p.comm->get_finish_time();
      p.comm = nullptr;
    }
  });
  engine.run();
  return ends;
}

}  // namespace

TEST_CASE("random flows on a torus end when they end in SimGrid", "[simgrid]") {
  Random random(kSeed);
  std::vector<Case> cases{worked_by_hand()};
  for (int i = 0; i < kCases; ++i) cases.push_back(random_case(i, random));

  const std::vector<Ends> theirs = ends_in_simgrid(cases);
  const Ends by_hand{5, 2, 5};
  for (std::size_t t = 0; t < by_hand.size(); ++t) {
    CHECK(std::abs(theirs[0][t] - by_hand[t]) <= 1e-9);
    CHECK(std::abs(ends_here(cases[0])[t] - by_hand[t]) <= 1e-9);
  }

  double largest = 0;
  std::size_t transfers = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Ends ours = ends_here(cases[i]);
    REQUIRE(ours.size() == theirs[i].size());
    for (std::size_t t = 0; t < ours.size(); ++t) {
      // Relative to the transfer's own length, which is never more than its end.
      const double start = static_cast<double>(cases[i].transfers[t].start) * 1e-6;
      const double difference = std::abs(ours[t] - theirs[i][t]) / (ours[t] - start);
      largest = std::max(largest, difference);
      CAPTURE(kSeed, cases[i].name, t, ours[t], theirs[i][t]);
      CHECK(difference <= kTolerance);
    }
    transfers += ours.size();
  }
  std::printf("seed %u: %d random cases, %zu transfers, largest relative difference %.1e\n", kSeed, kCases,
              transfers, largest);
}
