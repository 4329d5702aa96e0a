#include "models/collective.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/models/setup.h"
#include "topology/rank_order.h"

using namespace trnplan;
using namespace trnplan::models;
using topology::Degrees;
using topology::GroupKind;

namespace {

/// A cluster of trn1.32xlarge with round numbers: links 10 GB/s a direction, DMA 100 GB/s, NICs 5 GB/s, every
/// fraction 1.
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
    c.instance.core.dma = gigabytes_per_second(1000);
    c.instance.nic = gigabytes_per_second(5);
    return c;
  }
  static Profile make_profile() {
    Profile p = datasheet();
    for (const Parameter x : {Parameter::link_fraction, Parameter::dma_fraction, Parameter::efa_fraction})
      p.value(x).median = 1;
    return p;
  }
  Collective run(CollectiveOp op, GroupKind kind, double bytes) {
    return collective(fabric, op, order.groups(kind), Bytes(bytes));
  }
};

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

}  // namespace

// TP 8 is a row of four chips: one ring, two directions. An all-gather of G = 64 MB moves 3/4 G around the
// ring, half each way: 24 MB a link and direction at 10 GB/s = 2.4 ms.
TEST_CASE("all-gather over a row", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .data = 4});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::tensor, 64e6);
  CHECK(close(c.transfer(bed.fabric).value, 2.4e-3));
  CHECK(c.bottleneck(bed.fabric) == Parameter::link_fraction);
}

// TP 32 has two rings without a common link, four directions: 15/16 * 64 MB / 4 = 15 MB = 1.5 ms.
TEST_CASE("all-gather over the torus uses two rings", "[models][collective]") {
  Bed bed(1, {.tensor = 32});
  CHECK(close(bed.run(CollectiveOp::all_gather, GroupKind::tensor, 64e6).transfer(bed.fabric).value, 1.5e-3));
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

// TP 2 stays inside a chip: no link carries anything, DMA is the limit. Ring, 2 accesses a byte for
// all-gather: half of 64 MB circulates, 64 MB of accesses a core at 1000 GB/s = 64 us.
TEST_CASE("inside a chip only DMA counts", "[models][collective]") {
  Bed bed(1, {.tensor = 2, .data = 16});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::tensor, 64e6);
  for (const auto& [key, bytes] : c.load) CHECK(key.kind == Fabric::Kind::dma);
  CHECK(close(c.transfer(bed.fabric).value, 64e-6));
  CHECK(c.bottleneck(bed.fabric) == Parameter::dma_fraction);
}

// TP 32, DP 2 on two nodes: each of 32 ranks gathers 64 MB with its peer, half from the other node. A NIC
// serves 4 cores: 4 * 32 MB = 128 MB at 5 GB/s = 25.6 ms.
TEST_CASE("32 cores share 8 NICs", "[models][collective]") {
  Bed bed(2, {.tensor = 32, .data = 2});
  const Collective c = bed.run(CollectiveOp::all_gather, GroupKind::data, 64e6);
  CHECK(close(c.transfer(bed.fabric).value, 25.6e-3));
  CHECK(c.bottleneck(bed.fabric) == Parameter::efa_fraction);
  CHECK(c.network.value > 0);
}

// NxD's send is an all-gather over the pair: 8 MB cross the pair's link in both directions. PP 4 of TP 8
// sends between rows: 2 cores of a chip, 16 MB a link and direction = 1.6 ms.
TEST_CASE("pipeline send moves bytes both ways", "[models][collective]") {
  Bed bed(1, {.tensor = 8, .pipeline = 4});
  std::vector<std::vector<int>> pairs;
  for (int r = 0; r < 8; ++r) pairs.push_back({r, r + 8});
  const Collective c = collective(bed.fabric, CollectiveOp::send_recv, pairs, Bytes(8e6));
  CHECK(close(c.transfer(bed.fabric).value, 1.6e-3));
  CHECK(c.load.count({Fabric::Kind::link, 0, 0, 4}) == 1);
  CHECK(c.load.count({Fabric::Kind::link, 0, 4, 0}) == 1);
}

TEST_CASE("nothing to do", "[models][collective]") {
  Bed bed(1, {.tensor = 32});
  CHECK(collective(bed.fabric, CollectiveOp::all_reduce, {}, Bytes(1e6)).load.empty());
  CHECK(collective(bed.fabric, CollectiveOp::all_reduce, {{3}}, Bytes(1e6)).load.empty());
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
