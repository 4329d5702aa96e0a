// The network by a measured all-reduce: the share that gives the measured bandwidth, its spread, and what a step
// makes of it.
#include "models/collective/measured_network.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "models/collective/collective_timing.h"
#include "models/collective/neuron_parameters.h"
#include "models/step/step.h"
#include "models/uncertainty/spread.h"
#include "planner/plan/plan.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Job measured_gpu_job(int nodes) {
  Job job = job_of("llama3-8b", nodes, 2048, 8 * nodes);
  job.cluster.instance = gpu_machine();
  job.software.framework = "megatron";
  return job;
}

/// 1 GiB over all ranks of the job's nodes.
MeasuredAllReduce measured(const Job& job, double gigabytes) {
  return {job.cluster.instance.name,
          job.cluster.nodes,
          job.cluster.cores(),
          Bytes(0x1p30),
          gigabytes_per_second(gigabytes),
          0.06,
          0.2};
}

Profile with_measured(const Profile& profile, Job job, double gigabytes) {
  job.all_reduce = measured(job, gigabytes);
  return in_measured_network(profile, job);
}

double modelled_bus(const Job& job, const Profile& profile, Bytes bytes = Bytes(0x1p30)) {
  const topology::ChipGraph graph(job.cluster.instance);
  return CollectiveTimer(job.cluster, graph, profile)
      .time({CollectiveOp::all_reduce, job.cluster.cores(), bytes})
      .busbw;
}

}  // namespace

TEST_CASE("a measurement of the model's own all-reduce gives its own share of the NICs", "[models]") {
  const Job job = measured_gpu_job(4);
  for (const double share : {0.05, 0.2, 0.4}) {  // above, links of 200 GB/s a GPU limit it
    Profile p = gpu_profile();
    p.value(switched::network_share).median = share;
    const Profile found = with_measured(gpu_profile(), job, modelled_bus(job, p) / 1e9);
    REQUIRE(found.network);
    // The pace of four nodes, by which on_job() divides every share.
    const double pace = pace_of(p, job);
    CHECK(found.network->value.median == Approx(share * pace).epsilon(1e-9));
    CHECK(on_job(found, job)[switched::network_share] == Approx(share).epsilon(1e-9));
  }
  Job neuron = job_of("llama3-8b", 4, 4096, 64);
  Profile p = datasheet();
  p.value(neuron::efa_fraction).median = 0.3;
  const Profile found = with_measured(datasheet(), neuron, modelled_bus(neuron, p) / 1e9);
  CHECK(on_job(found, neuron)[neuron::efa_fraction] == Approx(0.3).epsilon(1e-9));
}

TEST_CASE("where the NICs limit the measurement, their share is proportional to it", "[models]") {
  // Latency is below 2 % of 1 GiB at 100 GB/s.
  const Profile found = with_measured(gpu_profile(), measured_gpu_job(4), 100);
  const Value share = on_job(found, measured_gpu_job(4)).value(switched::network_share);
  CHECK(on_job(with_measured(gpu_profile(), measured_gpu_job(4), 50),
               measured_gpu_job(4))[switched::network_share] == Approx(share.median / 2).epsilon(0.02));
  CHECK(share.log_sd == Approx(0.06).epsilon(0.02));
  // Two doublings away it is known less well, and no better on fewer nodes.
  CHECK(on_job(found, measured_gpu_job(16)).value(switched::network_share).log_sd ==
        Approx(std::hypot(share.log_sd, 0.4)));
  CHECK(on_job(found, measured_gpu_job(2)).value(switched::network_share).log_sd ==
        Approx(std::hypot(share.log_sd, 0.2)));
  CHECK_FALSE(on_job(found, measured_gpu_job(1)).network);
}

TEST_CASE("exposed reductions take as long as the measured bandwidth says", "[models]") {
  // FP32 gradients of all parameters leave each node over its NICs: a ring of four moves 2 * 3/4 of them. So slow
  // a network hides nothing more when it gets slower, and the differences are of the reduction alone.
  Job job = measured_gpu_job(4);
  const Strategy s = strategy_of(job, "tp=8,dp=4,mbs=1,framework=megatron,shard=none");
  const topology::ChipGraph graph(job.cluster.instance);
  const auto step = [&](double gigabytes) {
    return StepModel(job, s, with_measured(gpu_profile(), job, gigabytes), graph).simulate().step.value;
  };
  const double ten = step(10), five = step(5), two = step(2.5);
  CHECK(two - five == Approx(2 * (five - ten)).epsilon(0.01));
  const double bytes = 4.0 * static_cast<double>(parameters(job.architecture));
  const auto nics = [&](double gigabytes) {
    return 8 * 50e9 * on_job(with_measured(gpu_profile(), job, gigabytes), job)[switched::network_share];
  };
  CHECK(five - ten == Approx(bytes * 1.5 * (1 / nics(5) - 1 / nics(10))).epsilon(0.03));
}

TEST_CASE("a measured network narrows the interval and leaves the machine's other parameters", "[models]") {
  Profile p = gpu_profile();
  p.value(switched::network_share).log_sd = 0.4;
  const Job job = measured_gpu_job(4);
  const Strategy s = strategy_of(job, "tp=8,dp=4,mbs=1,framework=megatron,shard=none");
  const topology::ChipGraph graph(job.cluster.instance);
  const auto width = [&](const Profile& profile) {
    const StepReport r = StepModel(job, s, profile, graph).simulate();
    return std::log(r.high / r.low);
  };
  const Profile found = with_measured(p, job, modelled_bus(job, p) / 1e9);
  CHECK(width(found) < 0.9 * width(p));
  for (const Parameter other : p.schema->parameters()) {
    if (other == Parameter(switched::network_share)) continue;
    CHECK(found[other] == p[other]);
    CHECK(found.value(other).log_sd == p.value(other).log_sd);
  }
}

TEST_CASE("it is independent of what a fit knows, and taken once", "[models]") {
  const Profile fitted = test_catalog().profile("trn1");
  REQUIRE(fitted.calibration);
  Job job = job_of("llama3-8b", 4, 4096, 64);
  job.software.framework = "nxdt";
  job.all_reduce = measured(job, 40);
  const Profile once = in_measured_network(fitted, job), twice = in_measured_network(once, job);
  const std::size_t i = Parameter(neuron::efa_fraction).place();
  const auto &before = fitted.calibration->covariance, &after = once.calibration->covariance;
  CHECK(is_covariance(after));
  for (std::size_t k = 0; k < after.size(); ++k) {
    for (std::size_t l = 0; l < after.size(); ++l) {
      if (k != i && l != i) CHECK(after[k][l] == before[k][l]);
      if ((k == i) != (l == i)) CHECK(after[k][l] == 0);
    }
  }
  CHECK(after[i][i] == Approx(std::pow(once.value(neuron::efa_fraction).log_sd, 2)));
  CHECK(twice[neuron::efa_fraction] == once[neuron::efa_fraction]);
  CHECK(twice.calibration->covariance == after);
  job.cluster.instance.name = "another";
  CHECK_FALSE(in_measured_network(fitted, job).network);
}

TEST_CASE("measurements of which no network follows are refused", "[models]") {
  const Job job = measured_gpu_job(4);
  CHECK_THROWS_AS(with_measured(gpu_profile(), job, 5000), UnusableMeasurement);  // Gbit/s for GB/s
  CHECK_THROWS_AS(with_measured(gpu_profile(), job, 1e-3), UnusableMeasurement);
  Job small = job;
  small.all_reduce = measured(job, modelled_bus(job, gpu_profile(), Bytes(1024)) / 1e9);
  small.all_reduce->bytes = Bytes(1024);
  CHECK_THROWS_AS(in_measured_network(gpu_profile(), small), UnusableMeasurement);  // latency
}

namespace {

/// What is said of the job's all-reduce of that size; nothing where it is taken.
UnusableMeasurement refused(Job job, double gigabytes, Bytes bytes) {
  job.all_reduce = measured(job, gigabytes);
  job.all_reduce->bytes = bytes;
  try {
    static_cast<void>(in_measured_network(gpu_profile(), job));
  } catch (const UnusableMeasurement& e) {
    return e;
  }
  return {"", ""};
}

}  // namespace

// Catches small messages whose latency the model has wrong, and which it then blames on Gbit/s.
TEST_CASE("small messages measure no bandwidth, unless the network takes most of their time", "[models]") {
  const Job job = measured_gpu_job(4);
  const Bytes small(0x1p22);
  const double ceiling = modelled_bus(job, gpu_profile(), small) / 1e9;
  for (const double gigabytes : {0.9 * ceiling, 3 * ceiling}) {
    INFO(gigabytes);
    const UnusableMeasurement said = refused(job, gigabytes, small);
    CHECK(std::string(said.what()).find("rows of 4 MiB are too small") == 0);
    CHECK(said.fix.find("256 MiB and more") != std::string::npos);
    CHECK_FALSE(said.beyond);
  }
  CHECK(refused(job, 5000, small).beyond);
  CHECK(refused(job, 5000, Bytes(0x1p30)).beyond);
  CHECK(std::string(refused(job, 1, small).what()).empty());  // 8 ms, of which latency is a hundredth
}

TEST_CASE("where a cluster's states are known their law holds", "[models]") {
  Profile p = gpu_profile();
  Factors cluster;
  cluster.framework = "nanotron";
  cluster.cluster = "eight-gpus";
  cluster.network = {
      gigabytes_per_second(180), 0.5, {gigabytes_per_second(300), gigabytes_per_second(150)}, Seconds(1e-3)};
  p.factors = std::make_shared<const std::vector<Factors>>(std::vector<Factors>{cluster});
  Job job = measured_gpu_job(4);
  job.software.framework = "nanotron";
  // 45 of the usual 180 GB/s: half of the share; below 150 on four nodes: 1 ms a rank that is called.
  const Profile slow = with_measured(p, job, 45), on = on_job(slow, job);
  const double pace = pace_of(p, job);
  CHECK(on[switched::network_share] * pace == Approx(0.25));
  CHECK(call_per_rank(on).value == Approx(1e-3 * pace));
  CHECK(call_per_rank(on_job(with_measured(p, job, 160), job)).value == 0);
  // Steps of that cluster spread around the law, by 0.03 for each of two doublings.
  const std::vector<double> none(p.schema->places(), 0);
  const double before = log_spread(on, job, Strategy{}, none);
  cluster.network.step_spread = 0.03;
  p.factors = std::make_shared<const std::vector<Factors>>(std::vector<Factors>{cluster});
  CHECK(log_spread(on_job(with_measured(p, job, 45), job), job, Strategy{}, none) ==
        Approx(std::hypot(before, 0.06)));
  job.software.framework = "megatron";
  CHECK(on_job(with_measured(p, job, 45), job)[switched::network_share] != Approx(0.25 / pace));
}

// 45 GB/s in the slow state, by the law above; with no law the share would be 0.5 x (45 / 180)^2.
TEST_CASE("a cluster's slow state follows its own law", "[models]") {
  Profile p = gpu_profile();
  Factors cluster;
  cluster.cluster = "eight-gpus";
  cluster.network = {gigabytes_per_second(180), 0.5, {gigabytes_per_second(150)}, Seconds(1e-3)};
  cluster.slow = SlowNetwork{0.7, gigabytes_per_second(180), {gigabytes_per_second(45)}, 2};
  p.factors = std::make_shared<const std::vector<Factors>>(std::vector<Factors>{cluster});
  const Job job = measured_gpu_job(4);
  const auto slow = in_slow_network(p, job);
  REQUIRE(slow);
  CHECK(slow->profile.network->value.median == Approx(0.25));
  CHECK(call_per_rank(on_job(slow->profile, job)).value > 0);
}

namespace {

/// gpu_profile() with a slow state of all clusters, whose all-reduce falls from half of the usual one.
Profile with_slow_state(double probability, const std::string& cluster = "") {
  Profile p = gpu_profile();
  Factors all;
  all.cluster = cluster;
  all.slow = SlowNetwork{probability,
                         gigabytes_per_second(200),
                         {gigabytes_per_second(100), gigabytes_per_second(50), gigabytes_per_second(25),
                          gigabytes_per_second(12)},
                         1};
  p.factors = std::make_shared<const std::vector<Factors>>(std::vector{all});
  return p;
}

planner::Plan plan_on(const Profile& profile, const Job& job) {
  const topology::ChipGraph graph(job.cluster.instance);
  return planner::make_plan(job, strategy_of(job, "tp=8,mbs=1,framework=megatron"), profile, graph);
}

}  // namespace

// Shares by hand: 0.5 x 100 / 200 on 2 nodes, 0.5 x 12 / 200 on 16 and more.
TEST_CASE("the slow state of a network has a smaller share of the NICs", "[models]") {
  const Profile p = with_slow_state(0.2);
  const auto share = [&](int nodes) {
    return in_slow_network(p, measured_gpu_job(nodes))->profile.network->value.median;
  };
  CHECK(share(2) == Approx(0.25));
  CHECK(share(3) == Approx(0.125));
  CHECK(share(16) == Approx(0.03));
  CHECK(share(64) == Approx(0.03));
  CHECK(in_slow_network(p, measured_gpu_job(4))->probability == 0.2);
  CHECK_FALSE(in_slow_network(p, measured_gpu_job(1)));
  CHECK_FALSE(in_slow_network(gpu_profile(), measured_gpu_job(4)));
  CHECK_FALSE(in_slow_network(with_slow_state(0.2, "another"), measured_gpu_job(4)));
  CHECK_FALSE(in_slow_network(with_slow_state(0), measured_gpu_job(4)));
}

// Catches a mixture that is applied together with a measurement, or on one node, or that moves the median.
TEST_CASE("a measured all-reduce leaves the interval as it is without a slow state", "[models]") {
  for (const int nodes : {1, 4}) {
    const Job job = measured_gpu_job(nodes);
    const auto known = [&](const Profile& p) {
      return nodes > 1 ? plan_on(with_measured(p, job, 100), job).report : plan_on(p, job).report;
    };
    const StepReport with = known(with_slow_state(0.2)), without = known(gpu_profile());
    CHECK_FALSE(with.slow);
    CHECK(with.step == without.step);
    CHECK(with.low == without.low);
    CHECK(with.high == without.high);
  }
  const StepReport with = plan_on(with_slow_state(0.2), measured_gpu_job(4)).report,
                   without = plan_on(gpu_profile(), measured_gpu_job(4)).report;
  CHECK(with.step == without.step);
  CHECK(with.high > without.high);
}

TEST_CASE("the interval of an unmeasured network grows with the nodes", "[models]") {
  double before = 0;
  for (const int nodes : {1, 2, 4, 8, 16}) {
    const StepReport r = plan_on(with_slow_state(0.2), measured_gpu_job(nodes)).report;
    const double wide = std::log(r.high / r.low);
    INFO(nodes);
    CHECK(wide > before);
    before = wide;
  }
}
