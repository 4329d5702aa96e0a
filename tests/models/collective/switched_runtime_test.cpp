#include "models/collective/switched_runtime.h"

#include <cmath>

#include "models/collective/collective.h"
#include "models/collective/collective_timing.h"
#include "sim/exchange.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "topology/placement.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// Half of 400 GB/s to the switch, half of 50 GB/s a NIC, half of 4 TB/s of memory.
struct Bed {
  topology::Cluster cluster;
  topology::ChipGraph graph;
  topology::Placement placement;
  Profile profile = gpu_profile();
  Fabric fabric;

  explicit Bed(int nodes)
      : cluster{gpu_machine(), nodes},
        graph(cluster.instance),
        placement(topology::Placement::flat(cluster)),
        fabric(cluster, graph, placement, profile) {}

  std::vector<std::vector<int>> world() const {
    std::vector<int> ranks;
    for (int r = 0; r < cluster.cores(); ++r) ranks.push_back(r);
    return {ranks};
  }
  double seconds(CollectiveOp op, double bytes, Algorithm a = Algorithm::automatic) const {
    return collective(fabric, op, world(), Bytes(bytes), a).seconds(fabric).value;
  }
};

}  // namespace

TEST_CASE("a machine's data say which runtime its collectives run on", "[models][collective]") {
  CHECK(runtime_of(gpu_machine()).name() == "nccl");
  CHECK(runtime_of(test_catalog().instance("trn1.32xlarge")).name() == "neuron");
  CHECK(collective_runtime_named("abacus") == nullptr);
  CHECK(algorithm_names() == std::vector<std::string>{"auto", "ring", "kangaring", "mesh", "rdh", "torus",
                                                      "hierarchical", "flat-ring", "one-step"});
}

// Eight ranks, G bytes: seven steps in which each sends G/8 to the next, over its own link to the switch at
// 2e11 bytes a second; 8 us to start and 1 us a step. An all-reduce goes round twice.
TEST_CASE("a ring behind a switch takes its bytes over the data sheet's bandwidth", "[models][collective]") {
  const Bed bed(1);
  const double g = 8e9;
  const double once = 7e-6 + 7 * (g / 8) / 2e11;
  CHECK(bed.seconds(CollectiveOp::all_gather, g) == Approx(8e-6 + once));
  CHECK(bed.seconds(CollectiveOp::reduce_scatter, g) == Approx(8e-6 + once));
  CHECK(bed.seconds(CollectiveOp::all_reduce, g) == Approx(8e-6 + 2 * once));
  // What a switch does not have gives way to the ring.
  CHECK(bed.seconds(CollectiveOp::all_gather, g, Algorithm("kangaring")) == Approx(8e-6 + once));
  CHECK(bed.seconds(CollectiveOp::all_gather, 0) == Approx(8e-6 + 7e-6));
}

// Sixteen ranks on two nodes: fifteen steps of G/16, an eighth of it in each channel. Each channel leaves a
// node through another NIC: G/128 a step at 2.5e10 bytes a second. A chunk changes nodes on two of its steps,
// 10 us each.
TEST_CASE("between nodes all NICs carry a ring", "[models][collective]") {
  const Bed bed(2);
  const double g = 8e9;
  CHECK(bed.seconds(CollectiveOp::all_gather, g) == Approx(8e-6 + 13e-6 + 20e-6 + 15 * (g / 128) / 2.5e10));
}

// The same stages message by message: to a tick a step where no step leaves the node.
TEST_CASE("a ring behind a switch takes as long message by message", "[models][collective]") {
  const Bed bed(1);
  for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::all_reduce, CollectiveOp::all_to_all,
                                CollectiveOp::permute}) {
    CAPTURE(to_string(op));
    const Collective c = collective(bed.fabric, op, bed.world(), Bytes(8e8));
    const std::int64_t coflow = to_sim_time(c.seconds(bed.fabric) - c.alpha).ps;
    const auto run =
        sim::run_exchanges(bed.fabric.capacities(), expand(bed.fabric, op, bed.world(), Bytes(8e8)));
    CHECK(std::abs(run.end.ps - coflow) <= 15);
  }
}

TEST_CASE("a collective alone needs no barrier where its runtime has none", "[models][collective]") {
  const Bed bed(2);
  const CollectiveTimer timer(bed.cluster, bed.graph, bed.profile, true);
  const CollectiveTiming t = timer.time({CollectiveOp::all_gather, 16, Bytes(8e9)});
  CHECK(t.barrier.value == 0);
  CHECK(t.nccom_seconds.value == Approx(t.seconds.value + 1e-5));  // host_launch
  CHECK(t.seconds_90.low < t.seconds);
}
