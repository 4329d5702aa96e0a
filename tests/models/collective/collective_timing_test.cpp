#include "models/collective/collective_timing.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "models/collective/neuron_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "models/uncertainty/spread.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "tests/numbers.h"
#include "units/normal.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

struct TimingBed {
  explicit TimingBed(int nodes, const char* instance = "trn1.32xlarge")
      : cluster{test_catalog().instance(instance), nodes}, graph(cluster.instance), profile(datasheet()) {}

  CollectiveTiming time(const CollectiveRun& run) const {
    return CollectiveTimer(cluster, graph, profile).time(run);
  }

  topology::Cluster cluster;
  topology::ChipGraph graph;
  Profile profile;
};

}  // namespace

TEST_CASE("bus factors of nccom-test", "[models][collective]") {
  CHECK(bus_factor(CollectiveOp::all_reduce, 2) == 1.0);
  CHECK(bus_factor(CollectiveOp::all_reduce, 64) == 1.96875);
  CHECK(bus_factor(CollectiveOp::all_gather, 32) == 0.96875);
  CHECK(bus_factor(CollectiveOp::reduce_scatter, 32) == 0.96875);
  CHECK(bus_factor(CollectiveOp::all_to_all, 4) == 0.75);
  CHECK(bus_factor(CollectiveOp::permute, 8) == 1.0);
  CHECK(bus_factor(CollectiveOp::send_recv, 2) == 1.0);
  CHECK(bus_factor(CollectiveOp::all_reduce, 1) == 0.0);
}

TEST_CASE("bytes of an element", "[models][collective]") {
  CHECK(element_bytes("fp8") == 1);
  CHECK(element_bytes("bf16") == 2);
  CHECK(element_bytes("float32") == 4);
  CHECK(element_bytes("int64") == 8);
  CHECK(!element_bytes("quaternion"));
}

TEST_CASE("ranks of a run sit equally on the nodes, lowest cores first", "[models][collective]") {
  const TimingBed bed(2);
  CHECK(ranks_of(bed.cluster, 4) == std::vector<int>{0, 1, 32, 33});
  CHECK(ranks_of(bed.cluster, 64).size() == 64);
  for (const int bad : {0, -2, 1, 63, 66}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(ranks_of(bed.cluster, bad), std::invalid_argument);
  }
}

TEST_CASE("the times of a run add up", "[models][collective]") {
  for (const int nodes : {1, 2}) {
    const TimingBed bed(nodes);
    for (const double bytes : {0.0, 1.0, 65536.0, 0x1p30, 0x1p50, 0x1p62}) {
      CAPTURE(nodes, bytes);
      const CollectiveTiming t = bed.time({CollectiveOp::all_reduce, 32 * nodes, Bytes(bytes)});
      double sum = t.alpha.value;
      for (const auto& part : t.parts) {
        sum += part.latency.value + part.transfer.value;
        CHECK(part.limit.empty() == (bytes == 0));
      }
      CHECK(close(sum, t.seconds.value, 1e-12));
      CHECK(close(t.seconds.value + t.host_launch.value + t.barrier.value, t.nccom_seconds.value, 1e-12));
      CHECK((t.barrier.value > 0) == (nodes > 1));
      CHECK(close(t.algbw, bytes / t.nccom_seconds.value, 1e-12));
      CHECK(std::isfinite(t.busbw));
      CHECK(t.verdict.verdict == topology::Verdict::supported);
    }
  }
}

TEST_CASE("one rank takes the launch alone", "[models][collective]") {
  TimingBed bed(1);
  CollectiveTiming t = bed.time({CollectiveOp::all_reduce, 1, Bytes(1e6)});
  CHECK(t.algorithm == "none");
  CHECK(t.parts.empty());
  CHECK(t.seconds == Seconds(0));
  CHECK(t.nccom_seconds == Seconds(bed.profile[common::host_launch]));
  CHECK(t.busbw == 0.0);

  bed.profile.value(common::host_launch).median = 0;
  t = bed.time({CollectiveOp::all_reduce, 1, Bytes(0)});
  CHECK(t.algbw == 0.0);  // no bytes in no time
}

// One parameter decides each of these times: launch alone, or the memory of the cores at large sizes.
TEST_CASE("intervals follow from the spreads of the parameters", "[models][collective]") {
  TimingBed bed(1);
  for (Value& v : bed.profile.values) v.log_sd = 0;
  bed.profile.value(common::collective_spread).median = 0;
  const auto time = [&](const CollectiveRun& run) {
    return CollectiveTimer(bed.cluster, bed.graph, bed.profile, true).time(run);
  };
  const CollectiveRun small{CollectiveOp::all_reduce, 1, Bytes(8)};
  const CollectiveRun large{CollectiveOp::all_reduce, 2, Bytes(0x1p40)};
  CollectiveTiming t = time(large);
  CHECK(t.seconds_90.low == t.seconds);
  CHECK(t.nccom_seconds_90.high == t.nccom_seconds);

  bed.profile.value(common::host_launch).log_sd = 0.7;
  t = time(small);
  CHECK(std::abs(t.nccom_seconds_90.high / t.nccom_seconds - std::exp(kNinetyPercent * 0.7)) < 1e-9);
  CHECK(t.seconds_90.high == Seconds(0));
  t = time(large);
  CHECK(t.seconds_90.high == t.seconds);

  bed.profile.value(neuron::dma_fraction).log_sd = 0.3;
  t = time(large);
  CHECK(std::abs(t.seconds / t.seconds_90.low - std::exp(1.645 * 0.3)) < 1e-3);
  CHECK(std::abs(t.nccom_seconds_90.high / t.nccom_seconds - std::exp(1.645 * 0.3)) < 1e-3);

  bed.profile.value(neuron::hop_latency).log_sd = 0.4;
  bed.profile.value(neuron::in_graph_alpha).log_sd = 0.5;
  const CollectiveTiming wider = time({CollectiveOp::all_reduce, 2, Bytes(1024)});
  const double alpha = wider.alpha / wider.seconds,
               hop = 2 * bed.profile[neuron::hop_latency] / wider.seconds.value;
  const double sigma = std::log(wider.seconds_90.high / wider.seconds) / 1.645;
  CHECK(std::abs(sigma - std::hypot(alpha * 0.5, hop * 0.4)) < 5e-3);

  // What fits miss of tables they have not seen adds to all of them.
  bed.profile.value(common::collective_spread).median = 0.4;
  t = time(large);
  CHECK(std::abs(t.seconds / t.seconds_90.low - std::exp(1.645 * std::hypot(0.3, 0.4))) < 2e-3);
}

// Published: 1 and 56 MB for 64 ranks on the 16 chips of a trn2 node; the nccom-test table of 16 ranks, 4
// chips (aws-neuron/aws-neuron-sdk@81ce03ae tools/neuron-sys-tools/nccom-test.rst) prints the algorithms.
TEST_CASE("algorithms as published for trn2", "[models][collective]") {
  const TimingBed bed(1, "trn2.48xlarge");
  const auto algorithm = [&](int ranks, double bytes) {
    return bed.time({CollectiveOp::all_reduce, ranks, Bytes(bytes)}).algorithm;
  };
  CHECK(algorithm(16, 8192) == "mesh");
  CHECK(algorithm(16, 0x1p17) == "mesh");
  CHECK(algorithm(16, 0x1p21) == "rdh");
  CHECK(algorithm(16, 0x1p25) == "kangaring");
  CHECK(algorithm(16, 0x1p29) == "kangaring");
  CHECK(algorithm(64, 0x1p20 - 64) == "mesh");
  CHECK(algorithm(64, 0x1p20) == "rdh");
  CHECK(algorithm(64, 56 * 0x1p20 - 64) == "rdh");
  CHECK(algorithm(64, 56 * 0x1p20) == "kangaring");
}
