#include "models/collective/collective.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/collective/collective_memory.h"
#include "models/collective/neuron_algorithms.h"
#include "models/collective/neuron_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "tests/catch.h"
#include "tests/models/fabric_bed.h"
#include "tests/models/setup.h"
#include "tests/numbers.h"
#include "topology/rank_order.h"

using namespace trnplan;
using namespace trnplan::models;
using topology::Degrees;
using topology::GroupKind;

namespace {

/// A cluster of trn1.32xlarge with round numbers: links 10 GB/s a direction, memory 1000 GB/s a core, NICs 5
/// GB/s, every fraction 1. All messages are large unless a test says otherwise: ring or kangaring.
struct Bed {
  topology::Cluster cluster;
  topology::ChipGraph graph;
  topology::RankOrder order;
  topology::Placement placement;
  Profile profile;
  Fabric fabric;

  Bed(int nodes, Degrees degrees)
      : cluster(make_cluster(nodes)),
        graph(cluster.instance),
        order(cluster, degrees),
        placement(cluster, order),
        profile(make_profile()),
        fabric(cluster, graph, placement, profile) {}

  static topology::Cluster make_cluster(int nodes) {
    topology::Cluster c{test_catalog().instance("trn1.32xlarge"), nodes};
    c.instance.link_per_direction = gigabytes_per_second(10);
    c.instance.core.dma = c.instance.core.hbm = gigabytes_per_second(1000);
    c.instance.nic = gigabytes_per_second(5);
    return c;
  }
  static Profile make_profile() {
    Profile p = datasheet();
    for (const Parameter x :
         {neuron::link_fraction, neuron::dma_fraction, neuron::efa_fraction, neuron::hbm_fraction})
      p.value(x).median = 1;
    p.algorithms = {};
    return p;
  }
  /// A fabric has the capacities of the cluster and the profile it was made from.
  void renew() { fabric = Fabric(cluster, graph, placement, profile); }
  Collective run(CollectiveOp op, GroupKind kind, double bytes, Algorithm a = Algorithm::automatic) {
    return collective(fabric, op, order.groups(kind), Bytes(bytes), a);
  }
  double seconds(CollectiveOp op, GroupKind kind, double bytes, Algorithm a = Algorithm::automatic) {
    return run(op, kind, bytes, a).transfer(fabric).value;
  }
  bool uses(const Collective& c, Fabric::Kind kind) const {
    for (const Phase& p : c.phases) {
      for (const auto& [id, bytes] : p.load) {
        if (fabric.kind(id) == kind) return true;
      }
    }
    return false;
  }
};

}  // namespace

// TP 8 is a row of four chips: one ring, two directions. An all-gather of G = 64 MB moves 3/4 G around the
// ring, half each way: 24 MB a link and direction at 10 GB/s = 2.4 ms. Then each core reads its sibling's 8
// MB and writes them: 16 MB at 1000 GB/s = 16 us.
TEST_CASE("all-gather over a row", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .data = 4});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::tensor, 64e6);
  CHECK(close(c.transfer(bed.fabric).value, 2.416e-3));
  CHECK(c.algorithm == "kangaring");
  REQUIRE(c.phases.size() == 2);
  CHECK(c.phases[0].steps == 3);
  CHECK(c.phases[0].bottleneck(bed.fabric) == neuron::link_fraction);
  CHECK(c.phases[1].steps == 1);
  CHECK(c.phases[1].bottleneck(bed.fabric) == neuron::dma_fraction);
}

// TP 32 has two rings without a common link, four directions: 15/16 * 64 MB / 4 = 15 MB = 1.5 ms. 2 MB are
// read and written between siblings: 4 us.
TEST_CASE("all-gather over the torus uses two rings", "[models][collective]") {
  Bed bed(1, {.tensor = 32});
  CHECK(
      close(bed.run(CollectiveOp::all_gather, GroupKind::tensor, 64e6).transfer(bed.fabric).value, 1.504e-3));
}

TEST_CASE("an all-reduce is a reduce-scatter and an all-gather", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .data = 4});
  const double gather = bed.run(CollectiveOp::all_gather, GroupKind::tensor, 64e6).transfer(bed.fabric).value;
  const double scatter =
      bed.run(CollectiveOp::reduce_scatter, GroupKind::tensor, 64e6).transfer(bed.fabric).value;
  const double both = bed.run(CollectiveOp::all_reduce, GroupKind::tensor, 64e6).transfer(bed.fabric).value;
  CHECK(close(both, gather + scatter));
}

// DP 4 of TP 8 is a column with one rank a chip; both cores of a chip do the same at once, and share the
// chip's links: two groups a column, each 3/4 * 64 MB / 2 = 24 MB a link and direction, together 48 MB at 10
// GB/s = 4.8 ms.
TEST_CASE("both cores of a chip share its links", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .data = 4});
  CHECK(close(bed.run(CollectiveOp::all_gather, GroupKind::data, 64e6).transfer(bed.fabric).value, 4.8e-3));
}

// TP 2 stays inside a chip: no link carries anything, memory is the limit. Ring, 2 accesses a byte for
// all-gather: half of 64 MB circulates, 64 MB of accesses a core at 1000 GB/s = 64 us.
TEST_CASE("inside a chip only memory counts", "[models][collective]") {
  Bed bed(1, {.tensor = 2, .data = 16});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::tensor, 64e6);
  CHECK(bed.uses(c, Fabric::Kind::memory));
  CHECK(!bed.uses(c, Fabric::Kind::link));
  CHECK(close(c.transfer(bed.fabric).value, 64e-6));
  CHECK(c.phases[0].bottleneck(bed.fabric) == neuron::dma_fraction);
}

// The published accesses per chip and byte that circulates: ring 4 (all-gather) and 6 (reduce-scatter) for
// its two ranks, kangaring 3 and 4. With links and NICs out of the way, 1 GB/s of memory a core, and 16 MB
// over 4 chips: ring 7/8 * 16 MB * 2 or 3 a core, kangaring 3/4 * 16 MB * 1.5 or 2 and, between siblings, 2
// MB read and written (4 MB), or read, read and written (6 MB).
TEST_CASE("accesses of ring and kangaring", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .data = 4});
  bed.cluster.instance.core.dma = gigabytes_per_second(1);
  bed.renew();
  CHECK(close(bed.seconds(CollectiveOp::all_gather, GroupKind::tensor, 16e6, neuron::ring), 28e-3));
  CHECK(close(bed.seconds(CollectiveOp::reduce_scatter, GroupKind::tensor, 16e6, neuron::ring), 42e-3));
  CHECK(close(bed.seconds(CollectiveOp::all_gather, GroupKind::tensor, 16e6, neuron::kangaring), 22e-3));
  CHECK(close(bed.seconds(CollectiveOp::reduce_scatter, GroupKind::tensor, 16e6, neuron::kangaring), 30e-3));
  // What passes the DMA engines passes HBM: the slower of the two counts.
  bed.cluster.instance.core.hbm = gigabytes_per_second(0.5);
  bed.renew();
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::tensor, 16e6, neuron::ring);
  CHECK(close(c.transfer(bed.fabric).value, 56e-3));
  CHECK(c.phases[0].bottleneck(bed.fabric) == neuron::hbm_fraction);
}

// TP 32, DP 2 on two nodes: each of 32 ranks gathers 64 MB with its peer, half from the other node. A NIC
// serves 4 cores: 4 * 32 MB = 128 MB at 5 GB/s = 25.6 ms.
TEST_CASE("32 cores share 8 NICs", "[models][collective]") {
  Bed bed(2, {.tensor = 32, .data = 2});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::data, 64e6);
  CHECK(close(c.transfer(bed.fabric).value, 25.6e-3));
  CHECK(c.phases[0].bottleneck(bed.fabric) == neuron::efa_fraction);
  CHECK(c.phases[0].network.value > 0);
}

// TP 8 DP 8 on two nodes: a data-parallel group is a column (one rank a chip) on both. All-gather of 64 MB:
// each rank first gathers its quarter with its peer, 8 MB through the NIC, 4 cores a NIC: 32 MB at 5 GB/s
// = 6.4 ms; then the column, 3/4 * 64 MB / 2 a direction and two groups a column: 48 MB at 10 GB/s = 4.8 ms.
// One after the other.
TEST_CASE("hierarchical: between nodes, then inside", "[models][collective]") {
  Bed bed(2, {.tensor = 8, .data = 8});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::data, 64e6);
  CHECK(c.algorithm == "hierarchical (ring, ring)");
  REQUIRE(c.phases.size() == 2);
  CHECK(close(c.phases[0].transfer(bed.fabric).value, 6.4e-3));
  CHECK(close(c.phases[1].transfer(bed.fabric).value, 4.8e-3));
  CHECK(close(c.transfer(bed.fabric).value, 11.2e-3));
}

// All 64 ranks of two nodes in one ring with 8 channels, one a NIC: all-gather of 64 MB sends 63/64 of it out
// of each node, an eighth through each NIC: 7.875 MB at 5 GB/s = 1.575 ms.
TEST_CASE("a flat ring uses every NIC alike", "[models][collective]") {
  Bed bed(2, {.tensor = 32, .data = 2});
  std::vector<int> world(64);
  for (int r = 0; r < 64; ++r) world[static_cast<std::size_t>(r)] = r;
  const Collective c =
      collective(bed.fabric, CollectiveOp::all_gather, {world}, Bytes(64e6), neuron::flat_ring);
  REQUIRE(c.phases.size() == 1);
  CHECK(c.phases[0].steps == 63);
  CHECK(close(c.transfer(bed.fabric).value, 1.575e-3));
}

// Spine at a quarter of the NICs: a node's 8 NICs share 10 GB/s. The case of 32 cores on 8 NICs: 32 * 32 MB =
// 1024 MB at 10 GB/s.
TEST_CASE("an oversubscribed spine is shared by the whole node", "[models][collective]") {
  Bed bed(2, {.tensor = 32, .data = 2});
  topology::Cluster narrow = bed.cluster;
  narrow.oversubscription = 4;
  const Fabric fabric(narrow, bed.graph, bed.placement, bed.profile);
  const Collective c =
      collective(fabric, CollectiveOp::all_gather, bed.order.groups(GroupKind::data), Bytes(64e6));
  CHECK(close(c.transfer(fabric).value, 102.4e-3));
}

// Mesh over a column, one rank per chip: each sends 16 MB to the three others. Neighbours use their link; for
// the chip two hops away, half goes in each direction around the ring. Each directed link carries 16 MB for
// the neighbour and, of the four two-hop messages per direction, 8 MB of two of them: 32 MB; both cores of a
// chip: 64 MB at 10 GB/s.
TEST_CASE("mesh uses all shortest paths", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .data = 4});
  CHECK(close(bed.seconds(CollectiveOp::all_gather, GroupKind::data, 64e6, neuron::mesh), 6.4e-3));
}

// Halving-doubling over the 4-D hypercube: four lanes, each link of each axis always busy. 15/16 of 64 MB in
// four lanes = 15 MB a link and direction, as for two rings; then half of the bytes inside the chip, by
// memory.
TEST_CASE("halving-doubling works all axes at once", "[models][collective]") {
  Bed bed(1, {.tensor = 32});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::tensor, 64e6, neuron::halving_doubling);
  CHECK(c.phases.size() == 5);
  double links = 0;
  for (const Phase& p : c.phases) {
    if (p.bottleneck(bed.fabric) == neuron::link_fraction) links += p.transfer(bed.fabric).value;
  }
  CHECK(close(links, 1.5e-3));
}

// Each rank of 4 nodes with its likes, all 32 cores of a node at once, all-gather of 64 MB: it sends the 16
// MB it has to the node n xor 1, then the 32 MB it has to n xor 2. 4 cores a NIC: 64 MB and 128 MB at 5 GB/s.
TEST_CASE("halving-doubling between nodes", "[models][collective]") {
  Bed bed(4, {.tensor = 32, .data = 4});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::data, 64e6, neuron::halving_doubling);
  CHECK(c.algorithm == "rdh");
  REQUIRE(c.phases.size() == 2);
  CHECK(close(c.phases[0].transfer(bed.fabric).value, 12.8e-3));
  CHECK(close(c.phases[1].transfer(bed.fabric).value, 25.6e-3));
}

// One step, S = 10 MB. One core a chip of a row: 10 MB to the neighbour, and of the two-hop messages half of
// two over each directed link: 20 MB at 10 GB/s. Memory of a core: 3 messages read, 3 received at two
// accesses: 90 MB. Two nodes: every rank sends 10 MB to each of 32 on the other, 4 cores a NIC: 1280 MB at 5
// GB/s. All-to-all with S = 40 MB over 4 ranks: pieces of 10 MB, the same links, but one access less a byte:
// 60 MB. With S = 640 MB over 64 ranks: pieces of 10 MB again.
TEST_CASE("everyone to everyone: links, memory and NICs", "[models][collective]") {
  Bed bed(2, {.tensor = 32, .data = 2});
  const std::vector<int> row{0, 2, 4, 6};
  std::vector<int> world(64);
  for (int r = 0; r < 64; ++r) world[static_cast<std::size_t>(r)] = r;
  const auto check = [&](CollectiveOp op, const std::vector<int>& ranks, double bytes, double seconds) {
    const Collective c = collective(bed.fabric, op, {ranks}, Bytes(bytes), neuron::one_step);
    REQUIRE(c.phases.size() == 1);
    CHECK(c.phases[0].steps == 1);
    CHECK(close(c.transfer(bed.fabric).value, seconds));
    return c;
  };
  const auto memory = [&](const Collective& c) {
    for (const auto& [id, bytes] : c.phases[0].load) {
      if (id == bed.fabric.memory(0, 0)) return bytes;
    }
    return 0.0;
  };
  CHECK(close(memory(check(CollectiveOp::all_reduce, row, 10e6, 2e-3)), 90e6));
  CHECK(close(memory(check(CollectiveOp::all_to_all, row, 40e6, 2e-3)), 60e6));
  check(CollectiveOp::all_reduce, world, 10e6, 256e-3);
  check(CollectiveOp::all_to_all, world, 640e6, 256e-3);
}

// All-gather on tori of single-core chips. 4 x 4, 64 MB, chunks of 4 MB in four lanes (rows or columns first,
// each in both directions): 3 steps of 1 MB on every directed link, 0.3 ms at 10 GB/s; then 3 steps of a
// quarter of the four chunks held, 12 MB, 1.2 ms. 3 rows of 5 columns, 60 MB, chunks of 4 MB in two lanes,
// rows first: 4 steps of 2 MB, 0.8 ms; then 2 steps of half of the five chunks held, 20 MB, 2 ms.
TEST_CASE("torus: rows, then columns", "[models][collective]") {
  const auto phases = [](int rows, int columns, double bytes) {
    const topology::Cluster c = as_torus(Bed::make_cluster(1), rows, columns);
    const std::vector<int> world = first(rows * columns);
    const topology::ChipGraph graph(c.instance);
    const topology::Placement placement = topology::Placement::flat(c);
    const Profile profile = Bed::make_profile();
    const Fabric fabric(c, graph, placement, profile);
    const Collective all = collective(fabric, CollectiveOp::all_gather, {world}, Bytes(bytes), neuron::torus);
    std::vector<std::pair<std::int64_t, double>> out;
    for (const Phase& p : all.phases) out.emplace_back(p.steps, p.transfer(fabric).value);
    return out;
  };
  const auto square = phases(4, 4, 64e6), oblong = phases(3, 5, 60e6);
  REQUIRE(square.size() == 2);
  CHECK((square[0].first == 3 && close(square[0].second, 0.3e-3)));
  CHECK((square[1].first == 3 && close(square[1].second, 1.2e-3)));
  REQUIRE(oblong.size() == 2);
  CHECK((oblong[0].first == 4 && close(oblong[0].second, 0.8e-3)));
  CHECK((oblong[1].first == 2 && close(oblong[1].second, 2e-3)));
}

TEST_CASE("a fabric remembers nothing of what failed", "[models][collective]") {
  const Bed bed(1, {.tensor = 32});
  for (int time = 0; time < 2; ++time) {
    CHECK_THROWS_AS(bed.fabric.spread(0, 99), std::out_of_range);
    CHECK_THROWS_AS(bed.fabric.rings({98, 99}), std::out_of_range);
    CHECK_THROWS_AS(bed.fabric.channels({98, 99}), std::out_of_range);
    CHECK_THROWS_AS(bed.fabric.hypercube({98, 99}), std::out_of_range);
  }
}

// Nodes in the order of their first rank, each once, whatever the order of the ranks.
TEST_CASE("the shape of a group", "[models][collective]") {
  const Bed bed(4, {.tensor = 32, .data = 4});
  const GroupShape s = shape_of(bed.cluster, {65, 1, 97, 64, 0, 96, 33, 32});
  CHECK(s.nodes == std::vector<int>{2, 0, 3, 1});
  CHECK(s.cores == std::vector<int>{0, 1});
  CHECK(s.chips == std::vector<int>{0});
  CHECK(s.whole_chips);
  CHECK(!shape_of(bed.cluster, {0, 2}).whole_chips);
}

TEST_CASE("the runtime's choice by size, group and machine", "[models][collective]") {
  Bed bed(2, {.tensor = 32, .data = 2});
  bed.profile.algorithms = datasheet().algorithms;
  const auto algorithm = [&](CollectiveOp op, const std::vector<int>& ranks, double bytes) {
    return collective(bed.fabric, op, {ranks}, Bytes(bytes)).algorithm;
  };
  std::vector<int> world(64), node(32), column{0, 8, 16, 24};
  for (int r = 0; r < 64; ++r) world[static_cast<std::size_t>(r)] = r;
  for (int r = 0; r < 32; ++r) node[static_cast<std::size_t>(r)] = r;
  using enum CollectiveOp;
  CHECK(algorithm(all_reduce, node, 64) == "one-step");
  CHECK(algorithm(all_gather, node, 64) == "mesh");
  CHECK(algorithm(all_gather, node, 2e6) == "rdh");
  CHECK(algorithm(all_gather, node, 1e8) == "kangaring");
  CHECK(algorithm(all_gather, column, 1e8) == "ring");
  CHECK(algorithm(all_reduce, {0, 2, 8}, 2e6) == "ring");  // three ranks are no hypercube
  CHECK(algorithm(all_reduce, world, 2e8) == "hierarchical (ring, kangaring)");
  CHECK(algorithm(all_reduce, world, 1e8) == "hierarchical (rdh, kangaring)");  // 3.1 MB for each of 32 chips
  CHECK(algorithm(all_reduce, world, 2e7) == "hierarchical (rdh, rdh)");
  CHECK(algorithm(all_reduce, world, 1.5e6) == "hierarchical (rdh, rdh)");
  CHECK(algorithm(all_reduce, world, 0.9e6) == "hierarchical (mesh, mesh)");
  CHECK(algorithm(all_to_all, world, 1e8) == "mesh");
  bed.profile.algorithms.flat_ring_from = Bytes(1e6);  // a chip of the whole group
  CHECK(algorithm(all_reduce, world, 31e6) == "hierarchical (rdh, rdh)");
  CHECK(algorithm(all_reduce, world, 1e8) == "flat-ring");
  CHECK(algorithm(all_reduce, node, 1e8) == "kangaring");
}

// NxD's send is an all-gather over the pair: 8 MB cross the pair's link in both directions. PP 4 of TP 8
// sends between rows: 2 cores of a chip, 16 MB a link and direction = 1.6 ms.
// Catches loads of one algorithm that are scaled to a size at which another runs, and those of other groups.
TEST_CASE("scaled loads are those of the size", "[models][collective]") {
  Bed bed(4, {8, 1, 16, 1});
  bed.profile.algorithms.mesh_below = Bytes(1e5);
  bed.profile.algorithms.halving_below = Bytes(1e6);
  bed.profile.algorithms.one_step_below = Bytes(1e3);
  bed.renew();
  for (const GroupKind kind : {GroupKind::tensor, GroupKind::data}) {
    const auto groups = bed.order.groups(kind);
    ScaledLoads memory;
    for (const CollectiveOp op :
         {CollectiveOp::all_gather, CollectiveOp::all_reduce, CollectiveOp::all_to_all}) {
      for (const double bytes : {3e7, 7e7, 3e3, 5e3, 3e5, 2e4, 1e6, 0.0}) {
        CAPTURE(to_string(op), bytes);
        const Collective one = collective(bed.fabric, op, groups, Bytes(bytes), memory),
                         other = collective(bed.fabric, op, groups, Bytes(bytes));
        CHECK(one.algorithm == other.algorithm);
        CHECK(one.seconds(bed.fabric) == other.seconds(bed.fabric));
      }
    }
  }
}

TEST_CASE("pipeline send moves bytes in both directions", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .pipeline = 4});
  std::vector<std::vector<int>> pairs;
  for (int r = 0; r < 8; ++r) pairs.push_back({r, r + 8});
  const Collective c = collective(bed.fabric, CollectiveOp::send_recv, pairs, Bytes(8e6));
  CHECK(close(c.transfer(bed.fabric).value, 1.6e-3));
  double there = 0, back = 0;
  for (const auto& [id, bytes] : c.phases[0].load) {
    if (id == bed.fabric.link(0, 0, 4)) there = bytes;
    if (id == bed.fabric.link(0, 4, 0)) back = bytes;
  }
  CHECK(there == 16e6);
  CHECK(back == 16e6);
}

// Ring all-reduce on a machine where only links limit: 2 (N-1)/N S/B + 2 (N-1) latency, here N = 4 chips of
// one core, one direction of one ring used at a time: B counts both directions.
TEST_CASE("ring all-reduce by the textbook", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .data = 4});
  const std::vector<std::vector<int>> row{{0, 2, 4, 6}};
  for (const double bytes : {4e3, 4e6, 4e9}) {
    const Collective c = collective(bed.fabric, CollectiveOp::all_reduce, row, Bytes(bytes), neuron::ring);
    const double hop = bed.profile[neuron::hop_latency];
    const double expected = 2 * (3.0 / 4) * bytes / (2 * 10e9) + 2 * 3 * hop;
    CHECK(close(c.seconds(bed.fabric).value - c.alpha.value, expected));
  }
}

TEST_CASE("what nccom-test prints contains the launch, and the barrier between nodes",
          "[models][collective]") {
  Bed bed(2, {.tensor = 32, .data = 2});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::data, 64e6);
  const double inside = c.seconds(bed.fabric).value, launch = bed.profile[common::host_launch];
  CHECK(close(nccom_seconds(bed.fabric, c, false).value, inside + launch));
  CHECK(close(nccom_seconds(bed.fabric, c, true).value, inside + launch + bed.profile[neuron::barrier]));
}

TEST_CASE("bytes without a way take forever", "[models][collective]") {
  Bed bed(2, {.tensor = 32, .data = 2});
  topology::Cluster broken = bed.cluster;
  broken.instance.nics = 0;
  broken.instance.nic_of_chip.clear();
  broken.instance.links = {{0, 1}};
  const topology::ChipGraph graph(broken.instance);
  const Fabric fabric(broken, graph, bed.placement, bed.profile);
  const auto seconds = [&](std::vector<int> ranks, double bytes) {
    return collective(fabric, CollectiveOp::all_reduce, {std::move(ranks)}, Bytes(bytes))
        .seconds(fabric)
        .value;
  };
  CHECK(std::isfinite(seconds({0, 2}, 1e6)));
  CHECK(std::isinf(seconds({0, 4}, 1e6)));   // chips 0 and 2 are not joined
  CHECK(std::isinf(seconds({0, 32}, 1e6)));  // two nodes without a network
  CHECK(std::isfinite(seconds({0, 4}, 0)));
}

TEST_CASE("2^50 bytes, a group of three, one rank", "[models][collective]") {
  Bed bed(1, {.tensor = 32});
  const auto seconds = [&](std::vector<int> ranks, double bytes) {
    return collective(bed.fabric, CollectiveOp::all_reduce, {std::move(ranks)}, Bytes(bytes))
        .seconds(bed.fabric)
        .value;
  };
  // Both cores of a chip, ring: 2^49 bytes circulate, 5 accesses a byte in all, at 1000 GB/s a core.
  CHECK(seconds({0, 1}, 0x1p50) == Approx(2.5 * 0x1p50 / 1e12).epsilon(1e-6));
  // Chips 0, 1 and 4 (cores 0, 2, 8) form no ring: chip 4 answers chip 1 over two links.
  CHECK(std::isfinite(seconds({0, 2, 8}, 1e9)));
  CHECK(seconds({0, 2, 8}, 1e9) > seconds({0, 2}, 1e9));
  CHECK(seconds({7}, 1e9) == 0);
}

TEST_CASE("nothing to do", "[models][collective]") {
  Bed bed(1, {.tensor = 32});
  CHECK(collective(bed.fabric, CollectiveOp::all_reduce, {}, Bytes(1e6)).phases.empty());
  CHECK(collective(bed.fabric, CollectiveOp::all_reduce, {{3}}, Bytes(1e6)).phases.empty());
  const Collective empty = bed.run(CollectiveOp::all_reduce, GroupKind::tensor, 0);
  CHECK(empty.transfer(bed.fabric).value == 0);
  CHECK(empty.latency().value > 0);
}

TEST_CASE("relabelled groups cost the same", "[models][collective][property]") {
  Bed bed(1, {.tensor = 8, .data = 4});
  auto groups = bed.order.groups(GroupKind::tensor);
  const double expected =
      collective(bed.fabric, CollectiveOp::all_gather, groups, Bytes(5e6)).transfer(bed.fabric).value;
  std::reverse(groups.begin(), groups.end());
  for (auto& g : groups) std::rotate(g.begin(), g.begin() + 3, g.end());
  CHECK(collective(bed.fabric, CollectiveOp::all_gather, groups, Bytes(5e6)).transfer(bed.fabric).value ==
        expected);
}
