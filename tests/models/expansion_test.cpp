// A collective as coflows against the same collective message by message, on every algorithm.
#include <cmath>
#include <numeric>

#include "models/collective.h"
#include "sim/executor.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/sim/random_flows.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

constexpr Algorithm kAlgorithms[] = {
    Algorithm::ring,  Algorithm::kangaring,    Algorithm::mesh,      Algorithm::halving_doubling,
    Algorithm::torus, Algorithm::hierarchical, Algorithm::flat_ring, Algorithm::one_step};
constexpr CollectiveOp kOps[] = {CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                 CollectiveOp::all_reduce, CollectiveOp::all_to_all,
                                 CollectiveOp::permute,    CollectiveOp::send_recv};

/// A cluster on which no node stands for another, as messages need it.
struct Bed {
  topology::Cluster cluster;
  topology::ChipGraph graph;
  topology::Placement placement;
  Profile profile = datasheet();
  Fabric fabric;

  explicit Bed(int nodes, const std::string& instance = "trn1.32xlarge")
      : cluster{test_catalog().instance(instance), nodes},
        graph(cluster.instance),
        placement(topology::Placement::flat(cluster)),
        fabric(cluster, graph, placement, profile) {}

  /// `local` cores of each node.
  std::vector<int> group(const std::vector<int>& local) const {
    std::vector<int> ranks;
    for (int n = 0; n < cluster.nodes; ++n) {
      for (const int c : local) ranks.push_back(n * cluster.instance.cores() + c);
    }
    return ranks;
  }
};

std::vector<int> first(int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::int64_t ticks(Seconds s) {
  return to_sim_time(s).ps;
}

struct Compared {
  std::int64_t coflow = 0, messages = 0, steps = 0;
  std::string algorithm;
  std::int64_t apart() const { return std::abs(messages - coflow); }
};

Compared compare(const Bed& bed, CollectiveOp op, const std::vector<std::vector<int>>& groups, double bytes,
                 Algorithm algorithm) {
  const Collective c = collective(bed.fabric, op, groups, Bytes(bytes), algorithm);
  Compared r;
  r.algorithm = c.algorithm;
  r.coflow = ticks(c.seconds(bed.fabric)) - ticks(c.alpha);
  for (const Phase& p : c.phases) r.steps += p.steps;
  r.messages =
      sim::run_exchanges(bed.fabric.capacities(), expand(bed.fabric, op, groups, Bytes(bytes), algorithm))
          .end.ps;
  return r;
}

}  // namespace

TEST_CASE("uncontended, messages and coflow agree within a tick a step, 2 to 64 ranks, every algorithm",
          "[models][collective][differential]") {
  int compared = 0;
  for (const int nodes : {1, 2, 4}) {
    const Bed bed(nodes);
    // A chip, a pair of chips, a row, a column, three chips, two rows, the node; one core a chip of a row.
    for (const std::vector<int>& local : std::vector<std::vector<int>>{{5},
                                                                       {0, 1},
                                                                       {0, 8},
                                                                       {0, 1, 2, 3},
                                                                       {0, 2, 4, 6},
                                                                       {0, 8, 16, 24},
                                                                       {0, 2, 4},
                                                                       first(8),
                                                                       first(16),
                                                                       first(32)}) {
      const int ranks = nodes * static_cast<int>(local.size());
      if (ranks < 2 || ranks > 64) continue;
      for (const CollectiveOp op : kOps) {
        for (const Algorithm a : kAlgorithms) {
          for (const double bytes : {0.0, 64.0, 3e6}) {
            const Compared r = compare(bed, op, {bed.group(local)}, bytes, a);
            CAPTURE(nodes, ranks, to_string(op), r.algorithm, bytes, r.coflow, r.messages, r.steps);
            CHECK(r.apart() <= r.steps + 1);
            ++compared;
          }
        }
      }
    }
  }
  CHECK(compared > 3000);
}

TEST_CASE("a torus of single-core chips: dimension by dimension", "[models][collective][differential]") {
  Bed bed(1);
  for (const auto& [rows, columns] : {std::pair(4, 4), std::pair(3, 5)}) {
    topology::Cluster c = bed.cluster;
    c.instance.chips = rows * columns;
    c.instance.cores_per_chip = 1;
    c.instance.torus_rows = rows;
    c.instance.torus_columns = columns;
    c.instance.links.clear();
    for (int row = 0; row < rows; ++row) {
      for (int column = 0; column < columns; ++column) {
        c.instance.links.push_back({row * columns + column, row * columns + (column + 1) % columns});
        c.instance.links.push_back({row * columns + column, (row + 1) % rows * columns + column});
      }
    }
    c.instance.nics = 0;
    const topology::ChipGraph graph(c.instance);
    const topology::Placement placement = topology::Placement::flat(c);
    const Fabric fabric(c, graph, placement, bed.profile);
    const std::vector<std::vector<int>> world{first(rows * columns)};
    const Collective coflow =
        collective(fabric, CollectiveOp::all_reduce, world, Bytes(6e6), Algorithm::torus);
    CHECK(coflow.algorithm == "torus");
    const auto run = sim::run_exchanges(
        fabric.capacities(), expand(fabric, CollectiveOp::all_reduce, world, Bytes(6e6), Algorithm::torus));
    const std::int64_t expected = ticks(coflow.seconds(fabric)) - ticks(coflow.alpha);
    CAPTURE(rows, columns, expected, run.end.ps);
    CHECK(std::abs(run.end.ps - expected) <= 2 * (rows + columns));
  }
}

// Groups that share links: the columns of both cores of every chip, all rows, and a row beside a column.
TEST_CASE("contended, messages and coflows agree within one chunk's time",
          "[models][collective][differential]") {
  const Bed bed(2);
  const auto tensor = [&](int degree) {
    std::vector<std::vector<int>> groups;
    for (int r = 0; r < bed.cluster.cores(); r += degree) {
      groups.push_back(first(degree));
      for (int& x : groups.back()) x += r;
    }
    return groups;
  };
  std::vector<std::vector<int>> columns;
  for (int c = 0; c < 8; ++c) columns.push_back(bed.group({c, c + 8, c + 16, c + 24}));
  for (const auto& groups : {tensor(8), columns}) {
    for (const CollectiveOp op : kOps) {
      for (const Algorithm a : kAlgorithms) {
        const Compared r = compare(bed, op, groups, 48e6, a);
        CAPTURE(to_string(op), r.algorithm, groups.size(), r.coflow, r.messages, r.steps);
        CHECK(r.apart() <= r.coflow / std::max<std::int64_t>(1, r.steps));
      }
    }
  }
}

// Two collectives of different length that start at different times on the same links: the coflows in a
// program, the messages in an exchange.
TEST_CASE("collectives that overlap in part agree within one chunk's time",
          "[models][collective][differential]") {
  const Bed bed(1);
  sim::testing::Random random(20261121);
  for (int round = 0; round < 40; ++round) {
    const std::vector<int> row = first(8), column{0, 1, 8, 9, 16, 17, 24, 25},
                           other{2, 3, 10, 11, 18, 19, 26, 27};
    std::vector<sim::Exchange> exchanges;
    sim::Program program;
    for (const double c : bed.fabric.capacities()) program.add_resource("r", BytesPerSecond(c));
    std::int64_t chunk = 0;
    Profile quick = bed.profile;
    for (const Parameter p : {Parameter::hop_latency, Parameter::efa_latency}) quick.value(p).median = 1e-12;
    const Fabric fabric(bed.cluster, bed.graph, bed.placement, quick);
    for (const std::vector<int>& ranks : {row, column, row, other}) {
      const double bytes = 1e6 * random.whole(1, 60);
      const SimTime start{random.whole(0, 300) * 1'000'000};
      const Collective c =
          collective(fabric, CollectiveOp::all_gather, {ranks}, Bytes(bytes), Algorithm::kangaring);
      std::vector<sim::Weight> weights;
      for (const auto& [id, b] : c.phases[0].load) weights.push_back({id, b});
      program.add_transfer({}, program.add_flow(weights), start);
      exchanges.push_back(
          expand(fabric, CollectiveOp::all_gather, {ranks}, Bytes(bytes), Algorithm::kangaring)[0]);
      exchanges.back().start = start;
      // Four collectives share a link at most: a chunk takes at most four times as long as alone.
      chunk = std::max(chunk, 4 * ticks(c.transfer(fabric)) / c.phases[0].steps);
    }
    const sim::Run coflows = sim::execute(program);
    const sim::ExchangeRun messages = sim::run_exchanges(fabric.capacities(), exchanges);
    for (std::size_t i = 0; i < exchanges.size(); ++i) {
      CAPTURE(round, i, chunk);
      CHECK(std::abs(coflows.ended[i].ps - messages.ended[i].ps) <= chunk);
    }
  }
}

TEST_CASE("bytes sent are bytes received", "[models][collective][property]") {
  for (const int nodes : {2, 4}) {
    const Bed bed(nodes);
    for (const CollectiveOp op : kOps) {
      for (const Algorithm a : kAlgorithms) {
        const Collective c = collective(bed.fabric, op, {bed.group(first(8))}, Bytes(1e6), a);
        double out = 0, in = 0;
        for (const Phase& p : c.phases) {
          for (const auto& [id, bytes] : p.load) {
            if (bed.fabric.kind(id) == Fabric::Kind::nic_out) out += bytes;
            if (bed.fabric.kind(id) == Fabric::Kind::nic_in) in += bytes;
          }
        }
        CAPTURE(to_string(op), c.algorithm, out, in);
        CHECK(out > 0);
        CHECK(std::abs(out - in) <= 1e-9 * out);
      }
    }
  }
}

TEST_CASE("more bandwidth is never slower; all rates doubled halve the transfer",
          "[models][collective][property]") {
  sim::testing::Random random(3);
  for (int round = 0; round < 200; ++round) {
    Bed bed(random.whole(1, 4));
    const std::vector<int> ranks = bed.group(first(1 << random.whole(1, 5)));
    const auto op = kOps[random.whole(0, 5)];
    const auto a = kAlgorithms[random.whole(0, 7)];
    const double bytes = random.real(1, 1e8);
    const auto seconds = [&] {
      return collective(bed.fabric, op, {ranks}, Bytes(bytes), a).transfer(bed.fabric).value;
    };
    const double before = seconds();
    topology::Instance& i = bed.cluster.instance;
    const Fabric same(bed.cluster, bed.graph, bed.placement, bed.profile);
    switch (random.whole(0, 2)) {
      case 0:
        i.nic = i.nic * 1.5;
        break;
      case 1:
        i.core.dma = i.core.dma * 1.5;
        break;
      default:
        i.core.hbm = i.core.hbm * 1.5;
    }
    CHECK(seconds() <= before);
    CHECK(seconds() >= before / 1.5 * (1 - 1e-12));
    Profile twice = bed.profile;
    for (const Parameter p : {Parameter::link_fraction, Parameter::dma_fraction, Parameter::hbm_fraction,
                              Parameter::efa_fraction})
      twice.value(p).median *= 2;
    const Fabric faster(bed.cluster, bed.graph, bed.placement, twice);
    const double halved = collective(faster, op, {ranks}, Bytes(bytes), a).transfer(faster).value;
    CHECK(halved == Approx(seconds() / 2).epsilon(1e-12));
  }
}

// One node for all that are alike, against every node of its own.
TEST_CASE("nodes that do the same cost one", "[models][collective][differential]") {
  for (const int nodes : {2, 3, 8}) {
    const Bed bed(nodes);
    const topology::Placement one = topology::Placement::uniform(bed.cluster);
    const Fabric symmetric(bed.cluster, bed.graph, one, bed.profile);
    for (const CollectiveOp op : kOps) {
      for (const Algorithm a : kAlgorithms) {
        const std::vector<std::vector<int>> groups{bed.group(first(32))};
        const Collective all = collective(bed.fabric, op, groups, Bytes(5e6), a);
        const Collective single = collective(symmetric, op, groups, Bytes(5e6), a);
        CAPTURE(nodes, to_string(op), all.algorithm);
        CHECK(all.latency().value == single.latency().value);
        CHECK(all.transfer(bed.fabric).value == Approx(single.transfer(symmetric).value).epsilon(1e-12));
      }
    }
  }
}
