// Points made by the model with parameters that the fit does not know.
#include "calibrate/fit/collective_fit.h"

#include <cmath>
#include <map>

#include "models/collective/collective_timing.h"
#include "models/collective/neuron_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "topology/chip_graph.h"

using namespace trnplan;
using namespace trnplan::calibrate;
using namespace trnplan::logs;
using models::CollectiveOp;
using models::Parameter;

namespace {

const topology::Instance& trn1() {
  static const topology::Instance instance = test_catalog().instance("trn1.32xlarge");
  return instance;
}

/// What nccom-test would print on a machine with this profile.
MeasuredCollective point(const models::Profile& truth, CollectiveOp op, int ranks, int nodes, double bytes) {
  const topology::Cluster cluster{trn1(), nodes};
  const topology::ChipGraph graph(cluster.instance);
  const auto t = models::CollectiveTimer(cluster, graph, truth)
                     .time({op, ranks, Bytes(bytes), models::Algorithm::automatic});
  MeasuredCollective p;
  p.op = models::to_string(op);
  p.ranks = ranks;
  p.nodes = nodes;
  p.bytes = bytes;
  p.seconds = t.nccom_seconds.value;
  return p;
}

std::vector<MeasuredCollective> points(const models::Profile& truth) {
  std::vector<MeasuredCollective> all;
  for (double bytes = 1024; bytes < 2e9; bytes *= 4) {
    all.push_back(point(truth, CollectiveOp::all_reduce, 2, 1, bytes));        // memory, launch
    all.push_back(point(truth, CollectiveOp::all_gather, 32, 1, bytes));       // hops, links
    all.push_back(point(truth, CollectiveOp::reduce_scatter, 128, 4, bytes));  // network
    all.push_back(point(truth, CollectiveOp::all_reduce, 64, 2, bytes));
  }
  return all;
}

}  // namespace

TEST_CASE("a fit finds the parameters that made the points", "[calibrate]") {
  const models::Profile prior = datasheet();
  models::Profile truth = prior;
  const std::map<Parameter, double> factors = {
      {models::neuron::dma_fraction, 0.8}, {models::neuron::link_fraction, 0.7},
      {models::neuron::hop_latency, 1.6},  {models::common::host_launch, 0.6},
      {models::neuron::efa_fraction, 1.3}, {models::neuron::efa_latency, 0.7},
      {models::neuron::barrier, 0.8},
  };
  for (const auto& [p, factor] : factors) truth.value(p).median *= factor;
  const auto measured = points(truth);
  const CollectiveFit fit = fit_collectives(measured, trn1(), prior, 0.01);
  CHECK(fit.converged);
  CHECK(fit.rows.size() == measured.size());
  CHECK(fit.median_error < 0.002);
  CHECK(fit.worst_error < 0.02);
  REQUIRE(fit.worst != nullptr);
  CHECK(std::abs(fit.worst->error) == fit.worst_error);
  REQUIRE(fit.estimates.size() == kCollectiveParameters.size());
  for (const auto& e : fit.estimates) {
    CAPTURE(models::to_string(e.parameter), e.prior.median, e.posterior.median, e.prior_share);
    CHECK(e.posterior.median == Approx(truth[e.parameter]).epsilon(0.03));
    CHECK(e.posterior.median == fit.profile[e.parameter]);
    CHECK(e.prior.median == prior[e.parameter]);
    CHECK(e.verdict == "identified");
  }
  for (const Parameter parameter : prior.schema->parameters()) {
    if (!factors.contains(parameter)) CHECK(fit.profile[parameter] == prior[parameter]);
  }
}

// Two cores of a chip say nothing of links and networks.
TEST_CASE("what no point depends on stays at its prior", "[calibrate]") {
  models::Profile truth = datasheet();
  truth.value(models::neuron::dma_fraction).median *= 0.7;
  std::vector<MeasuredCollective> measured;
  for (double bytes = 1024; bytes < 2e9; bytes *= 4)
    measured.push_back(point(truth, CollectiveOp::all_reduce, 2, 1, bytes));
  const CollectiveFit fit = fit_collectives(measured, trn1(), datasheet(), 0.01);
  for (const auto& e : fit.estimates) {
    CAPTURE(models::to_string(e.parameter), e.posterior.median, e.prior_share);
    if (e.parameter == models::neuron::dma_fraction) {
      CHECK(e.posterior.median == Approx(truth[e.parameter]).epsilon(0.02));
      CHECK(e.verdict == "identified");
    } else if (e.parameter != models::common::host_launch && e.parameter != models::neuron::hop_latency) {
      CHECK(e.verdict == "at prior");
      CHECK(e.posterior.median == Approx(e.prior.median).epsilon(0.01));
    }
  }
}

TEST_CASE("the points of a table", "[calibrate]") {
  NccomTable table;
  table.op = "all_gather";
  table.ranks = 32;
  table.rows.resize(3);
  for (int i = 0; i < 3; ++i) {
    NccomRow& row = table.rows[static_cast<std::size_t>(i)];
    row.bytes = 1024 << i;
    row.seconds = 1e-6 * (i + 1);
    row.type = "bf16";
    row.algorithm = "mesh";
    row.at.line = 10 + i;
  }
  table.rows[1].contradicts = true;
  const auto points = points_of(table, "run.txt");
  REQUIRE(points.size() == 2);
  CHECK(points[0].id == "run.txt:10");
  CHECK(points[1].id == "run.txt:12");
  CHECK(points[1].op == "all_gather");
  CHECK(points[1].ranks == 32);
  CHECK(points[1].nodes == 0);
  CHECK(points[1].bytes == 4096);
  CHECK(points[1].seconds == 3e-6);
  CHECK(points[1].type == "bf16");
  CHECK(points[1].algorithm == "mesh");
  CHECK(points[1].source == "run.txt");
  table.nodes = 2;
  CHECK(points_of(table, "run.txt")[0].nodes == 2);
  table.op.clear();
  CHECK(points_of(table, "run.txt").empty());
  table.op = "all_gather";
  table.ranks.reset();
  CHECK(points_of(table, "run.txt").empty());
}
