#include "models/collective/switched_runtime.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "models/collective/collective.h"
#include "models/collective/collective_timing.h"
#include "models/collective/neuron_algorithms.h"
#include "sim/exchange.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "text/csv.h"
#include "topology/placement.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// Half of 400 GB/s to the switch, half of 50 GB/s per NIC, half of 4 TB/s of memory. LL starts in 8 us and
/// steps in 1 us; the others step in 3 us, and start later: LL128 by 2 us, Simple by 10 us, the switch by 20
/// us.
struct SwitchedBed {
  topology::Cluster cluster;
  topology::ChipGraph graph;
  topology::Placement placement;
  Profile profile = gpu_profile();
  Fabric fabric;

  explicit SwitchedBed(int nodes, topology::Instance machine = gpu_machine())
      : cluster{std::move(machine), nodes},
        graph(cluster.instance),
        placement(topology::Placement::flat(cluster)),
        fabric(cluster, graph, placement, profile) {
    profile.value(switched::ll128_start).median = 2e-6;
    profile.value(switched::simple_start).median = 10e-6;
    profile.value(switched::in_switch_start).median = 20e-6;
    profile.value(switched::chunk_step).median = 3;
  }

  std::vector<std::vector<int>> world() const {
    std::vector<int> ranks;
    for (int r = 0; r < cluster.cores(); ++r) ranks.push_back(r);
    return {ranks};
  }
  Collective of(CollectiveOp op, double bytes, Algorithm a = Algorithm::automatic) const {
    return collective(fabric, op, world(), Bytes(bytes), a);
  }
  double seconds(CollectiveOp op, double bytes, Algorithm a = Algorithm::automatic) const {
    return of(op, bytes, a).seconds(fabric).value;
  }
};

topology::Instance reducing_machine() {
  topology::Instance i = gpu_machine();
  i.traits.in_switch_reduction = true;
  return i;
}

}  // namespace

TEST_CASE("a machine's data say which runtime its collectives run on", "[models][collective]") {
  CHECK(runtime_of(gpu_machine()).name() == "nccl");
  CHECK(runtime_of(test_catalog().instance("trn1.32xlarge")).name() == "neuron");
  CHECK(collective_runtime_named("abacus") == nullptr);
  CHECK(algorithm_names() == std::vector<std::string>{"auto", "ring", "kangaring", "mesh", "rdh", "torus",
                                                      "hierarchical", "flat-ring", "one-step", "tree", "nvls",
                                                      "nvls-tree", "pat"});
}

// Eight ranks, G bytes, protocol Simple: it starts in 8 + 10 us; seven steps of 3 us in which each rank sends
// G/8 to the next, over its own link to the switch at 2e11 bytes a second. Each rank's own G/8 is read and
// written at 2e12 bytes a second. An all-reduce goes round twice and leaves nothing to copy.
TEST_CASE("a ring behind a switch takes its bytes over the data sheet's bandwidth", "[models][collective]") {
  const SwitchedBed bed(1);
  const double g = 8e9;
  const double once = 7 * 3e-6 + 7 * (g / 8) / 2e11, own = 2 * (g / 8) / 2e12;
  CHECK(bed.seconds(CollectiveOp::all_gather, g) == Approx(18e-6 + once + own));
  CHECK(bed.seconds(CollectiveOp::reduce_scatter, g) == Approx(18e-6 + once + own));
  CHECK(bed.seconds(CollectiveOp::all_reduce, g) == Approx(18e-6 + 2 * once));
  // An algorithm that a switch lacks is replaced by the library's choice.
  CHECK(bed.seconds(CollectiveOp::all_gather, g, Algorithm("kangaring")) == Approx(18e-6 + once + own));
  // If there is nothing to move: LL.
  CHECK(bed.seconds(CollectiveOp::all_gather, 0) == Approx(8e-6 + 7e-6));
}

// All-gathers over eight ranks by NCCL's own latencies and the 324 GB/s that it counts of 400: LL takes 6.6 +
// 7 * 0.6 us and 0.38 of the rate, LL128 14 + 7 * 1.9 us and 0.92, Simple 8.4 + 7 * 3.4 us. LL and LL128 meet
// at 10.8 us + x / 123.1 GB/s = 27.3 us + x / 298.1 GB/s, x = 7 G / 8, so G = 3.955 MB; LL128 and Simple meet
// at 27.3 us + x / 298.1 GB/s = 32.2 us + x / 324 GB/s, so G = 20.87 MB.
TEST_CASE("a ring takes the protocol that NCCL's latencies speak for", "[models][collective]") {
  const SwitchedBed bed(1);
  const auto protocol = [&](double bytes) { return bed.of(CollectiveOp::all_gather, bytes).algorithm; };
  CHECK(protocol(3.9e6) == "ring LL");
  CHECK(protocol(4.0e6) == "ring LL128");
  CHECK(protocol(20.8e6) == "ring LL128");
  CHECK(protocol(20.95e6) == "ring");
  // 0.92 of the link, steps of 3 us, a start that is 2 us longer, and the own part.
  CHECK(bed.seconds(CollectiveOp::all_gather, 16e6) ==
        Approx(10e-6 + 7 * (3e-6 + 2e6 / 0.92 / 2e11) + 2 * 2e6 / 2e12));
}

// All-reduces over eight GPUs, with the library's numbers. A100: 240 GB/s, of which LL gets 87.7; LL 6.6 + 14
// * 0.6 us, LL128 14 + 14 * 1.9, Simple 8.4 + 14 * 3.4, x = 1.75 S: LL to 2.13 MB, LL128 to 24.3 MB. H100:
// 370.8 GB/s, of which LL gets 141; the switch 25 us and 1.125 S / (0.85 * 370.8 GB/s), which LL meets at
// 1.13 MB.
TEST_CASE("all-reduces change protocol and algorithm at the sizes of NCCL's tuning", "[models][collective]") {
  const auto way = [&](const char* machine, double bytes) {
    const SwitchedBed bed(1, test_catalog().instance(machine));
    return bed.of(CollectiveOp::all_reduce, bytes).algorithm;
  };
  CHECK(way("p4d.24xlarge", 2.1e6) == "ring LL");
  CHECK(way("p4d.24xlarge", 2.2e6) == "ring LL128");
  CHECK(way("p4d.24xlarge", 24e6) == "ring LL128");
  CHECK(way("p4d.24xlarge", 25e6) == "ring");
  CHECK(way("p5.48xlarge", 1.1e6) == "ring LL");
  CHECK(way("p5.48xlarge", 1.2e6) == "nvls");
  CHECK(way("p5.48xlarge", 1e9) == "nvls");
}

// Limits of sizes that EFA's plugin found itself (aws/aws-ofi-nccl@2daf7d30 src/tuner/nccl_ofi_regions.cpp):
// the choice by latencies and rates changes within a factor of three of them.
TEST_CASE("algorithms over EFA change near the regions of its plugin", "[models][collective]") {
  struct Change {
    const char* machine;
    CollectiveOp op;
    int nodes;
    double megabytes;
    const char *below, *above;
  };
  using enum CollectiveOp;
  for (const Change& c : {Change{"p5.48xlarge", all_reduce, 2, 31, "tree LL128", "nvls-tree"},
                          {"p5.48xlarge", all_reduce, 4, 38, "tree LL128", "nvls-tree"},
                          {"p5.48xlarge", all_reduce, 8, 117, "tree LL128", "nvls-tree"},
                          {"p5.48xlarge", all_reduce, 16, 302, "tree LL128", "nvls-tree"},
                          {"p5.48xlarge", all_reduce, 128, 537, "tree LL128", "nvls-tree"},
                          {"p5en.48xlarge", all_gather, 2, 0.79, "ring LL", "ring LL128"},
                          {"p5en.48xlarge", all_gather, 16, 4.7, "ring LL", "ring LL128"},
                          {"p5en.48xlarge", all_gather, 2, 237, "ring LL128", "ring"},
                          {"p5en.48xlarge", all_gather, 8, 956, "ring LL128", "ring"}}) {
    CAPTURE(c.machine, to_string(c.op), c.nodes, c.megabytes);
    const SwitchedBed bed(c.nodes, test_catalog().instance(c.machine));
    CHECK(bed.of(c.op, c.megabytes * 1e6 / 3).algorithm == c.below);
    CHECK(bed.of(c.op, c.megabytes * 1e6 * 3).algorithm == c.above);
  }
}

// The switch reads all S bytes of every rank, and each rank distributes S/8 of the sum: 9/8 S over a link
// each way, at 0.85 of its rate. 8 + 20 us to start.
TEST_CASE("a switch that reduces takes every byte over a link little more than once",
          "[models][collective]") {
  const SwitchedBed bed(1, reducing_machine());
  const double s = 8e9;
  CHECK(bed.of(CollectiveOp::all_reduce, s).algorithm == "nvls");
  CHECK(bed.seconds(CollectiveOp::all_reduce, s) == Approx(28e-6 + s * 9 / 8 / 0.85 / 2e11));
  CHECK(bed.seconds(CollectiveOp::all_reduce, s) < SwitchedBed(1).seconds(CollectiveOp::all_reduce, s));
  // The switch only does all-reduces.
  CHECK(bed.of(CollectiveOp::all_gather, s, Algorithm("nvls")).algorithm == "ring");
}

// Up and down the chain of a node, 7 steps of 1 us each way; and up and down log2 of the nodes, rounded up,
// where a step takes 5/14 of Simple's 10 us in the profile.
TEST_CASE("a tree's steps between nodes grow with the logarithm of the nodes", "[models][collective]") {
  for (const auto& [nodes, levels] : {std::pair(2, 1), {4, 2}, {5, 3}, {8, 3}, {9, 4}}) {
    CAPTURE(nodes);
    CHECK(SwitchedBed(nodes).seconds(CollectiveOp::all_reduce, 0, Algorithm("tree")) ==
          Approx(8e-6 + 14e-6 + 2 * levels * 10e-6 * 5 / 14));
  }
  // The steps of a ring grow with the nodes: of 2 (16 nodes of 8 - 1) steps 2 * 16 or one less lead to
  // another node.
  CHECK(SwitchedBed(16).of(CollectiveOp::all_reduce, 0).algorithm == "tree LL");
}

// Sixteen ranks on two nodes: fifteen steps of G/16, an eighth of it in each channel. Each channel leaves a
// node through another NIC: G/128 per step at 2.5e10 bytes a second. A chunk crosses between nodes on two of
// its steps, 10 us each. The own G/16 is copied.
TEST_CASE("between nodes all NICs carry a ring", "[models][collective]") {
  const SwitchedBed bed(2);
  const double g = 8e9;
  CHECK(bed.seconds(CollectiveOp::all_gather, g) ==
        Approx(18e-6 + 13 * 3e-6 + 20e-6 + 15 * (g / 128) / 2.5e10 + 2 * (g / 16) / 2e12));
}

// One step: inside a node 1 us, between nodes the 10 us of Simple; 1 GB over its own link, or through its own
// NIC.
TEST_CASE("a message of one rank to another takes one step", "[models][collective]") {
  CHECK(SwitchedBed(1).seconds(CollectiveOp::send_recv, 1e9) == Approx(8e-6 + 1e-6 + 1e9 / 2e11));
  CHECK(SwitchedBed(2).seconds(CollectiveOp::send_recv, 1e9) == Approx(8e-6 + 10e-6 + 1e9 / 2.5e10));
}

// Two nodes: a tree sends S once each way between them, an eighth through each NIC, while the links carry 9/8
// S at 0.85. The links take longer: 9/8 / 0.85 / 2e11 against 1/8 / 2.5e10. Start 28 us, up and down one
// level of 20.9 / 14 of 10 us; the machine's network adds its latency twice per step.
TEST_CASE("a tree over nodes whose switches reduce works links and NICs at once", "[models][collective]") {
  topology::Instance machine = reducing_machine();
  machine.network_latency = Seconds(5e-6);
  const SwitchedBed bed(2, machine);
  const double s = 8e9;
  CHECK(bed.of(CollectiveOp::all_reduce, s).algorithm == "nvls-tree");
  CHECK(bed.seconds(CollectiveOp::all_reduce, s) ==
        Approx(28e-6 + 2 * (10e-6 * 20.9 / 14 + 10e-6) + s * 9 / 8 / 0.85 / 2e11));
}

// Each of two trees carries half of S. From 4 nodes on a node that has two children and a parent in one and a parent
// in the other sends four halves, of three nodes one sends three, an eighth of it through each NIC of 2.5e10. Catches
// that a node of a tree sent 2 (N - 1) / N S as in a ring.
TEST_CASE("the busiest node of two trees sends every byte twice from four nodes on", "[models][collective]") {
  const double s = 8e9;
  for (const auto& [nodes, levels, halves] :
       {std::tuple(3, 2, 3), std::tuple(4, 2, 4), std::tuple(8, 3, 4), std::tuple(9, 4, 4)}) {
    CAPTURE(nodes);
    CHECK(
        SwitchedBed(nodes, reducing_machine()).seconds(CollectiveOp::all_reduce, s, Algorithm("nvls-tree")) ==
        Approx(28e-6 + 2 * levels * 10e-6 * 20.9 / 14 + halves * s / 2 / 8 / 2.5e10));
  }
}

// One rank on each of 64 nodes with a NIC of 50 GB/s. A ring of LL takes 6.6 + 63 * 2.7 us and half the NIC;
// trees, one for each rank's part, take 8 + 6 * 4 + 64 * 2.8 us and three quarters; a ring of Simple takes
// 8.4 + 63 * 14 us and all of it: LL to 2.6 MB, trees to 103.5 MB.
TEST_CASE("one rank of each node gathers small parts by trees", "[models][collective]") {
  const SwitchedBed bed(64);
  std::vector<int> ranks;
  for (int node = 0; node < 64; ++node) ranks.push_back(8 * node);
  const auto of = [&](double bytes) {
    return collective(bed.fabric, CollectiveOp::all_gather, {ranks}, Bytes(bytes)).algorithm;
  };
  CHECK(of(2.5e6) == "ring LL");
  CHECK(of(2.7e6) == "pat");
  CHECK(of(103e6) == "pat");
  CHECK(of(104e6) == "ring");
}

// The same stages message by message: equal to one tick per step if no step of a stage leaves the node, and
// if all of them do.
TEST_CASE("collectives behind a switch take as long message by message", "[models][collective]") {
  const auto compare = [](const SwitchedBed& bed, CollectiveOp op, double bytes, Algorithm a) {
    CAPTURE(to_string(op), bytes, a.name(), bed.cluster.nodes);
    const Collective c = bed.of(op, bytes, a);
    const std::int64_t coflow = to_sim_time(c.seconds(bed.fabric) - c.alpha).ps;
    const auto run =
        sim::run_exchanges(bed.fabric.capacities(), expand(bed.fabric, op, bed.world(), Bytes(bytes), a));
    CHECK(std::abs(run.end.ps - coflow) <= 40);
  };
  const SwitchedBed one(1), reducing(1, reducing_machine()), two(2), reducing_two(2, reducing_machine());
  for (const double bytes : {8e3, 8e6, 8e8}) {
    for (const CollectiveOp op : {CollectiveOp::all_gather, CollectiveOp::reduce_scatter,
                                  CollectiveOp::all_reduce, CollectiveOp::all_to_all, CollectiveOp::permute})
      compare(one, op, bytes, Algorithm::automatic);
    compare(one, CollectiveOp::all_reduce, bytes, Algorithm("tree"));
    compare(reducing, CollectiveOp::all_reduce, bytes, Algorithm("nvls"));
    compare(two, CollectiveOp::all_reduce, bytes, Algorithm("tree"));
    compare(reducing_two, CollectiveOp::all_reduce, bytes, Algorithm("nvls-tree"));
  }
}

// Every machine with a switch: no collective is faster than its bytes over the data sheet's links and NICs,
// and with one algorithm and protocol more bytes take at least as long.
TEST_CASE("no collective beats the bandwidth of its machine", "[once][models][collective]") {
  for (const std::string& name : test_catalog().instances()) {
    const topology::Instance machine = test_catalog().instance(name);
    if (machine.traits.collectives != topology::CollectiveRuntime::nccl) continue;
    for (const int nodes : {1, 2, 8}) {
      const SwitchedBed bed(nodes, machine);
      for (const CollectiveOp op :
           {CollectiveOp::all_gather, CollectiveOp::reduce_scatter, CollectiveOp::all_reduce,
            CollectiveOp::all_to_all, CollectiveOp::permute, CollectiveOp::send_recv}) {
        double before = 0;
        std::string way;
        for (double bytes = 1; bytes < 1e11; bytes *= 1.3) {
          CAPTURE(name, nodes, to_string(op), bytes);
          const Collective c = bed.of(op, bytes);
          const double t = c.seconds(bed.fabric).value;
          // Each node receives the data of the others, at least one part from each.
          const double ranks = bed.cluster.cores(), least = nodes > 1 ? (nodes - 1.0) / nodes : 0;
          REQUIRE(std::isfinite(t));
          REQUIRE(t >= bytes * (ranks - 1) / ranks / machine.link_per_direction.value *
                           (op == CollectiveOp::permute || op == CollectiveOp::send_recv ? 0.5 : 1));
          if (op == CollectiveOp::all_gather || op == CollectiveOp::all_reduce)
            REQUIRE(t >= bytes * least / (machine.nic.value * machine.nics));
          if (c.algorithm == way) REQUIRE(t >= before);
          before = t;
          way = c.algorithm;
        }
      }
    }
  }
}

namespace {

/// Absolute errors of the rows of catalog/measured-nccl.csv with so many nodes, by the catalogue's profiles.
std::vector<double> errors_of_table(int nodes) {
  const std::string path = TRNPLAN_SOURCE_DIR "/catalog/measured-nccl.csv";
  const std::string text = read_text(path);
  CsvReader csv(text, path, {"op", "ranks", "nodes", "instance", "bytes", "measured_us"}, "");
  std::vector<double> errors;
  while (csv.next()) {
    const auto op = collective_op(csv.text("op"));
    const double measured = *csv.number("measured_us") * 1e-6, bytes = *csv.number("bytes");
    const std::string instance(csv.text("instance"));
    const int ranks = csv.whole("ranks", 0);
    if (csv.whole("nodes", 0) != nodes) continue;
    const topology::Cluster cluster{test_catalog().instance(instance), nodes};
    const topology::ChipGraph graph(cluster.instance);
    const Profile profile = test_catalog().profile(cluster.instance.family + "-kernels");
    const CollectiveTimer timer(cluster, graph, profile);
    errors.push_back(std::abs(timer.time({*op, ranks, Bytes(bytes)}).seconds.value / measured - 1));
  }
  csv.finish();
  std::sort(errors.begin(), errors.end());
  return errors;
}

}  // namespace

// docs/accuracy.md, "NCCL": fitted inside a node, by constants between nodes.
TEST_CASE("collectives of GPUs agree with published tables", "[models][collective]") {
  const std::vector<double> inside = errors_of_table(1), between = errors_of_table(2);
  REQUIRE(inside.size() == 210);
  REQUIRE(between.size() == 19);
  CHECK(inside[inside.size() / 2] < 0.10);
  CHECK(between[between.size() / 2] < 0.25);
}

TEST_CASE("a collective alone needs no barrier where its runtime has none", "[models][collective]") {
  const SwitchedBed bed(2);
  const CollectiveTimer timer(bed.cluster, bed.graph, bed.profile, true);
  const CollectiveTiming t = timer.time({CollectiveOp::all_gather, 16, Bytes(8e9)});
  CHECK(t.barrier.value == 0);
  CHECK(t.nccom_seconds.value == Approx(t.seconds.value + 1e-5));  // host_launch
  CHECK(t.seconds_90.low < t.seconds);
}
