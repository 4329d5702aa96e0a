#include "calibrate/fit/collective_fit.h"

#include <cmath>

#include "models/collective/collective_timing.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::calibrate;
using namespace trnplan::logs;

namespace {

MeasuredCollective point(const char* op, int ranks, int nodes, double bytes, double seconds) {
  MeasuredCollective p;
  p.id = op;
  p.op = op;
  p.ranks = ranks;
  p.nodes = nodes;
  p.bytes = bytes;
  p.seconds = seconds;
  return p;
}

topology::Instance machine(const char* name) {
  return test_catalog().instance(name);
}

/// What the data-sheet profile says, times `factor` and `1 / factor` in turn.
std::vector<MeasuredCollective> synthetic(double factor) {
  const topology::Instance instance = machine("trn1.32xlarge");
  const topology::Cluster cluster{instance, 1};
  const topology::ChipGraph graph(instance);
  const models::Profile profile = datasheet();
  const models::CollectiveTimer timer(cluster, graph, profile);
  std::vector<MeasuredCollective> points;
  for (double bytes = 1024; bytes < 0x1p32; bytes *= 2, factor = 1 / factor) {
    const auto t = timer.time({models::CollectiveOp::all_gather, 32, Bytes(bytes)});
    points.push_back(point("all_gather", 32, 1, bytes, t.nccom_seconds.value * factor));
  }
  return points;
}

}  // namespace

TEST_CASE("points that cannot be predicted are separated from those that can", "[calibrate]") {
  const std::vector<MeasuredCollective> points = {
      point("all_gather", 8, 1, 1024, 1e-4),   point("all_gather", 8, 1, 1024, 1e-4),
      point("all_gather_v", 8, 1, 1024, 1e-4), point("all_reduce", 33, 1, 1024, 1e-4),
      point("all_reduce", 33, 2, 1024, 1e-4),  point("all_reduce", 64, 0, 1024, 1e-4),
  };
  const Selection s = select_points(points, machine("trn1.32xlarge"), datasheet());
  REQUIRE(s.points.size() == 2);
  CHECK(s.points[1].ranks == 64);
  CHECK(s.repeated == 1);
  REQUIRE(s.left_out.size() == 3);
  CHECK(s.left_out[0].reason == "all_gather_v is not modelled");
  CHECK(s.left_out[1].reason == "33 ranks do not fit on 1 node of trn1.32xlarge, which has 32 cores");
  CHECK(s.left_out[2].reason == "33 ranks do not sit equally on 2 nodes of trn1.32xlarge");
  for (const LeftOut& l : s.left_out) CHECK(!l.fix.empty());

  const Selection alone =
      select_points({point("all_reduce", 4, 2, 1024, 1e-4)}, machine("trn1.2xlarge"), datasheet());
  CHECK(alone.points.empty());
  REQUIRE(alone.left_out.size() == 1);
  CHECK(alone.left_out[0].reason == "it ran on 2 nodes, and trn1.2xlarge has no EFA device");
  CHECK(select_points({}, machine("trn1.2xlarge"), datasheet()).points.empty());
  CHECK_THROWS(fit_collectives({}, machine("trn1.2xlarge"), datasheet()));
  CHECK_THROWS(predict_collectives(points, machine("trn1.32xlarge"), datasheet()));
}

TEST_CASE("a prediction is that of the profile, without estimates", "[calibrate]") {
  const auto points = synthetic(1);
  const CollectiveFit fit = predict_collectives(points, machine("trn1.32xlarge"), datasheet());
  CHECK(fit.estimates.empty());
  CHECK(fit.worst_error < 1e-12);
  CHECK(fit.explains());
}

TEST_CASE("a fit that misses its rows is less sure of itself", "[calibrate]") {
  const topology::Instance instance = machine("trn1.32xlarge");
  const auto near = synthetic(1.05), far = synthetic(3);
  const CollectiveFit good = fit_collectives(near, instance, datasheet());
  const CollectiveFit bad = fit_collectives(far, instance, datasheet());
  CHECK(good.noise_scale == 1.0);
  CHECK(good.explains());
  CHECK(bad.noise_scale > 3);
  CHECK(!bad.explains());
  for (std::size_t i = 0; i < good.estimates.size(); ++i) {
    CAPTURE(models::to_string(good.estimates[i].parameter));
    CHECK(bad.estimates[i].prior_share >= good.estimates[i].prior_share - 0.02);
    CHECK(bad.estimates[i].prior_share <= 1.0);
  }
}

TEST_CASE("a table in which an option says who talks to whom gives no points", "[calibrate]") {
  const char* const kText =
      "nccom-test -r 8 --custom-src-target-pairs p.json permute\n"
      "size(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n"
      "1024 256 fp32 70.0 0.01 0.01\n";
  const auto tables = parse_nccom_test(kText, "t");
  REQUIRE(tables.size() == 1);
  CHECK(tables[0].partners == "--custom-src-target-pairs");
  CHECK(tables[0].time_heading == "time:avg(us)");
  CHECK(points_of(tables[0], "t").empty());
}

TEST_CASE("a fallback says what no command line says", "[calibrate]") {
  NccomCommand fallback;
  fallback.op = "all_gather";
  fallback.ranks = 8;
  fallback.nodes = 1;
  const char* const kRows =
      "size(B) count(elems) type time:avg(us) algbw(GB/s) busbw(GB/s)\n1024 256 fp32 70.0 0.01 0.01\n";
  const auto bare = parse_nccom_test(kRows, "t", fallback);
  CHECK(points_of(bare[0], "t").size() == 1);
  CHECK(bare[0].warnings.empty());
  const auto commanded = parse_nccom_test(std::string("nccom-test -r 4 allr\n") + kRows, "t", fallback);
  CHECK(commanded[0].op == "all_reduce");
  CHECK(commanded[0].ranks == 4);
}
