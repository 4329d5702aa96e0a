#include "models/collective_timing.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

struct Bed {
  explicit Bed(int nodes, const char* instance = "trn1.32xlarge")
      : cluster{test_catalog().instance(instance), nodes}, graph(cluster.instance), profile(datasheet()) {}

  CollectiveTiming time(const CollectiveRun& run) const {
    return CollectiveTimer(cluster, graph, profile).time(run);
  }

  topology::Cluster cluster;
  topology::ChipGraph graph;
  Profile profile;
};

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::abs(b);
}

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
  const Bed bed(2);
  CHECK(ranks_of(bed.cluster, 4) == std::vector<int>{0, 1, 32, 33});
  CHECK(ranks_of(bed.cluster, 64).size() == 64);
  for (const int bad : {0, -2, 1, 63, 66}) {
    CAPTURE(bad);
    CHECK_THROWS_AS(ranks_of(bed.cluster, bad), std::invalid_argument);
  }
}

TEST_CASE("the times of a run add up", "[models][collective]") {
  for (const int nodes : {1, 2}) {
    const Bed bed(nodes);
    for (const double bytes : {0.0, 1.0, 65536.0, 0x1p30, 0x1p50, 0x1p62}) {
      CAPTURE(nodes, bytes);
      const CollectiveTiming t = bed.time({CollectiveOp::all_reduce, 32 * nodes, Bytes(bytes)});
      double sum = t.alpha.value;
      for (const auto& part : t.parts) {
        sum += part.latency.value + part.transfer.value;
        CHECK(part.limit.empty() == (bytes == 0));
      }
      CHECK(close(sum, t.seconds.value));
      CHECK(close(t.seconds.value + t.host_launch.value + t.barrier.value, t.nccom_seconds.value));
      CHECK((t.barrier.value > 0) == (nodes > 1));
      CHECK(close(t.algbw, bytes / t.nccom_seconds.value));
      CHECK(std::isfinite(t.busbw));
      CHECK(t.verdict.verdict == topology::Verdict::supported);
    }
  }
}

TEST_CASE("one rank takes the launch alone", "[models][collective]") {
  Bed bed(1);
  CollectiveTiming t = bed.time({CollectiveOp::all_reduce, 1, Bytes(1e6)});
  CHECK(t.algorithm == "none");
  CHECK(t.parts.empty());
  CHECK(t.seconds == Seconds(0));
  CHECK(t.nccom_seconds == Seconds(bed.profile[Parameter::host_launch]));
  CHECK(t.busbw == 0.0);

  bed.profile.value(Parameter::host_launch).median = 0;
  t = bed.time({CollectiveOp::all_reduce, 1, Bytes(0)});
  CHECK(t.algbw == 0.0);  // no bytes in no time
}
