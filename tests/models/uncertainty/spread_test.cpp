#include "models/uncertainty/spread.h"

#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "models/device/gpu_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "models/schemas/schemas.h"
#include "models/step/step.h"
#include "models/uncertainty/compare.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using models::Parameter;
using models::Profile;

namespace {

const std::size_t kCount = models::schema_named("neuron")->places();

/// A profile whose only doubt is what the test puts there.
Profile sure() {
  Profile p = datasheet();
  for (models::Value& v : p.values) v.log_sd = 0;
  p.value(models::common::configuration_spread).median = 1e-9;
  p.value(models::common::stack_spread).median = 1e-9;
  return p;
}

std::shared_ptr<models::Calibration> calibration(std::vector<models::StackFactor> stacks) {
  auto c = std::make_shared<models::Calibration>();
  c->stacks = std::move(stacks);
  c->covariance.assign(kCount + c->stacks.size(), std::vector<double>(kCount + c->stacks.size(), 0));
  return c;
}

}  // namespace

// What the critical path says of each parameter against differences of 0.2 % around it. A path may change
// within that, and ticks round: 0.003 of the step.
TEST_CASE("gradients of a step are those of finite differences", "[models]") {
  const auto check = [](const models::Job& job, const std::string& text) {
    const models::Strategy s = strategy_of(job, text);
    const Profile profile = datasheet();
    const std::vector<double> g = models::log_gradient(simulate_step(job, s, profile));
    double largest = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      const models::Parameter p = models::schema_named("neuron")->at(i);
      if (!p) continue;  // a place of another schema
      Profile above = profile, below = profile;
      above.values[i].median *= std::exp(1e-3);
      below.values[i].median *= std::exp(-1e-3);
      const double difference =
          std::log(simulate_step(job, s, above).step / simulate_step(job, s, below).step) / 2e-3;
      INFO(to_string(p) << " of " << text);
      CHECK(g[i] == Approx(difference).margin(0.003));
      largest = std::max(largest, std::abs(difference));
    }
    CHECK(largest > 0.2);  // something was there to compare
  };
  check(job_of("llama2-7b", 16, 4096, 256), "tp=8,flash=false,recompute=CoreAttention");
  check(job_of("llama2-70b", 4, 4096, 32), "tp=32,pp=4,recompute=full");
}

TEST_CASE("a stack and the number of nodes scale every time alike", "[models]") {
  models::Job job = job_of("llama2-7b", 16, 4096, 256);
  const models::Strategy s = strategy_of(job, "tp=8,pp=2");
  Profile profile = datasheet();
  const double alone = simulate_step(job, s, profile).step.value;
  profile.calibration = calibration({{"nxdt", "", 1.1, 0}, {"nxdt", "2.20", 0.9, 0}, {"nxd", "", 2, 0}});
  const auto ratio = [&](const char* framework, const char* release) {
    job.software = {framework, release};
    const auto report = simulate_step(job, s, profile);
    double sum = 0;
    for (const Seconds part : report.breakdown) sum += part.value;
    CHECK(sum == Approx(report.step.value));
    CHECK(models::StepModel(job, s, profile, topology::ChipGraph(job.cluster.instance)).lower_bound().value <=
          report.step.value * (1 + 1e-9));
    return report.step.value / alone;
  };
  CHECK(ratio("", "") == Approx(1).epsilon(1e-9));
  CHECK(ratio("nxdt", "") == Approx(1.1).epsilon(1e-6));
  CHECK(ratio("nxdt", "2.20") == Approx(0.99).epsilon(1e-6));
  CHECK(ratio("nxdt", "2.21") == Approx(1.1).epsilon(1e-6));
  CHECK(ratio("nemo-megatron", "") > 0.9);

  Profile even = datasheet();
  even.value(models::common::node_spread).median = 1e-30;
  job.software = {};
  // The slowest of 16 lies Phi^-1(15.625 / 16.25) = 1.769 spreads above the median; spread 0.03.
  CHECK(alone / simulate_step(job, s, even).step.value == Approx(std::exp(0.03 * 1.769)).epsilon(1e-4));
  CHECK(models::slowest_of(1) == 0);
  CHECK(models::slowest_of(4) == Approx(1.0491).epsilon(1e-3));  // Phi^-1(3.625 / 4.25)
}

TEST_CASE("the spread of a step is that of covariance, stack and configuration", "[models]") {
  const models::Job job = job_of("llama2-7b", 4, 4096, 64);
  const auto report = simulate_step(job, strategy_of(job, "tp=8"), sure());
  const std::vector<double> g = models::log_gradient(report);
  const auto at = [](Parameter p) { return p.place(); };
  const std::size_t a = at(models::neuron::matmul_efficiency), b = at(models::neuron::hbm_fraction);
  REQUIRE(g[a] < -0.1);
  REQUIRE(g[b] < -0.05);

  Profile profile = sure();
  profile.value(models::common::configuration_spread).median = 0.07;
  profile.value(models::common::repeat_spread).median = 0.05;
  profile.value(models::common::release_spread).median = 0.06;
  profile.value(models::common::stack_spread).median = 0.12;
  auto c = calibration({{"nxdt", "", 1, 0.08}});
  c->covariance[a][a] = 0.04;
  c->covariance[b][b] = 0.01;
  c->covariance[a][b] = c->covariance[b][a] = -0.015;
  c->covariance[kCount][kCount] = 0.0064;
  profile.calibration = c;
  const double parameters = 0.04 * g[a] * g[a] + 0.01 * g[b] * g[b] - 0.03 * g[a] * g[b];
  const double always = parameters + 0.0049 + 0.0025;  // configuration and repetition
  const models::Strategy strategy = strategy_of(job, "tp=8");
  const auto spread = [&](const models::Software& software, bool causal = true) {
    models::Job on = job;
    on.software = software;
    on.architecture.causal = causal;
    return models::log_spread(profile, on, strategy, g);
  };
  CHECK(spread({"nxdt", "2.20"}) == Approx(std::sqrt(always + 0.0064 + 0.0036)));
  CHECK(spread({}) == Approx(std::sqrt(always + 0.0144 + 0.0036)));
  profile.value(models::common::encoder_spread).median =
      0.1;  // in place of 0.07 where the network is not causal
  CHECK(spread({"nxdt", "2.20"}, false) == Approx(std::sqrt(always - 0.0049 + 0.01 + 0.0064 + 0.0036)));
  CHECK(spread({"nxd", "2.20"}) == Approx(std::sqrt(always + 0.0144 + 0.0036)));
}

// Catches parts of factors that pace and spread count differently, and what borrows though it must not: the
// own stack, another stack on another machine, a factor of published runs or of a layout.
TEST_CASE("a stack borrows from others on its machine, and from itself on others", "[models][uncertainty]") {
  models::Job job = job_of("llama2-7b", 4, 4096, 64);
  const std::string machine = job.cluster.instance.name;
  Profile p = sure();
  p.calibration = calibration({{"nxdt", "", 1.1, 0},
                               {"nxdt", "2.20", 2, 0, machine},
                               {"nxdt", "2.20", 1.3, 0, machine, "a layout"},
                               {"nemo-megatron", "", 1, 0, machine},
                               {"nxdt", "2.20", 3, 0, "elsewhere"}});
  Profile none = p;
  none.calibration = calibration({{"nxdt", "", 1.1, 0}});
  const models::Strategy s = strategy_of(job, "tp=8");
  using Weights = std::vector<double>;
  const auto weights = [&](const char* framework, const char* release) {
    job.software = {framework, release};
    const models::FactorShares shares = models::factor_shares(p, job, &s);
    double log_pace = 0;
    for (std::size_t i = 0; i < shares.weights.size(); ++i)
      log_pace += shares.weights[i] * std::log(p.calibration->stacks[i].median);
    CHECK(std::log(pace_of(p, job, &s) / pace_of(sure(), job, &s)) == Approx(log_pace).margin(1e-12));
    const models::SpreadParts parts = models::spread_parts(p, job, s, Weights(kCount, 0));
    CHECK(Weights(parts.gradient.begin() + static_cast<std::ptrdiff_t>(kCount), parts.gradient.end()) ==
          shares.weights);
    if (shares.borrowed.empty()) {
      CHECK(shares.variance == 0);
    } else {
      const double more = parts.shared - models::spread_parts(none, job, s, Weights(kCount, 0)).shared;
      CHECK(more == Approx(shares.variance).epsilon(1e-6));
    }
    return shares.weights;
  };
  const double third = 1.0 / 3;
  CHECK(weights("nxdt", "2.20") == Weights{1, 1, 0, 0, 0});
  CHECK(weights("nemo-megatron", "2.21") == Weights{0, 0, 0, 1, 0});
  CHECK(weights("nxd", "2.20") == Weights{0, third, 0, third, 0});
  CHECK(weights("nxdt", "2.21") == Weights{1, third, 0, third, 0});  // a release that did not run there
  // The mean of (log 2)^2 and (log 1)^2, and the variance of Beta(2, 1), 1 / 18.
  CHECK(models::factor_shares(p, job).variance == Approx(std::log(2) * std::log(2) / 2 / 18));
  job.cluster.instance.name = "elsewhere";
  CHECK(weights("nxd", "2.20") == Weights{0, 0, 0, 0, 0.5});
  CHECK(weights("nemo-megatron", "2.20") ==
        Weights{0, 0, 0, 0.5, 0.5});  // the stack's share and the machine's
  job.cluster.instance.name = "unknown";
  CHECK(weights("nxd", "2.20") == Weights{0, 0, 0, 0, 0});
  CHECK(weights("nxdt", "2.20") == Weights{1, third, 0, 0, third});
}

// Catches a config that states no release and takes half of what its own cluster has shown.
TEST_CASE("a job without a release is of the one that was learnt", "[models][uncertainty]") {
  models::Job job = job_of("llama2-7b", 4, 4096, 64);
  const std::string machine = job.cluster.instance.name;
  Profile p = sure();
  const auto release = [&](std::vector<models::StackFactor> stacks) {
    p.calibration = calibration(std::move(stacks));
    return models::site_release(p, job);
  };
  job.software = {"nxdt", ""};
  CHECK(release({{"nxdt", "2.19", 1.1, 0},
                 {"nxdt", "2.20", 2, 0, machine},
                 {"nxdt", "2.21", 2, 0, "elsewhere"}}) == "2.20");
  CHECK(release({{"nxdt", "2.20", 2, 0, machine}, {"nxdt", "2.21", 1, 0, machine}}).empty());
  CHECK(release({{"nxdt", "2.21", 2, 0, "elsewhere"}}) == "2.21");  // of which it borrows
  CHECK(release({{"nxd", "2.20", 2, 0, machine}}).empty());
}

// Reported: a layout learnt from a log was not found in its own config, which names the network otherwise.
TEST_CASE("a learnt layout is that of a network of one size, whatever its name", "[models][uncertainty]") {
  models::Job job = job_of("llama2-7b", 4, 4096, 64);
  job.software = {"nxdt", ""};
  const models::Strategy s = strategy_of(job, "tp=8");
  models::StackFactor f{"nxdt", "", 1.2, 0, job.cluster.instance.name, layout_name(job, s)};
  f.parameters = static_cast<std::int64_t>(models::parameters(job.architecture));
  CHECK(applies(f, job, &s));
  job.architecture.name = "config";
  CHECK(applies(f, job, &s));
  models::Job deeper = job;
  ++deeper.architecture.layers;
  CHECK_FALSE(applies(f, deeper, &s));
  ++job.training.global_batch;
  CHECK_FALSE(applies(f, job, &s));
  --job.training.global_batch;
  f.parameters = 0;  // of an older profile
  CHECK_FALSE(applies(f, job, &s));
}

// A log-sd of 0.3 of all steps whose tokens are dispatched: not of a dense model, nor of experts with places.
// Catches: doubt of dispatchers that widens other steps, or that plans of one stack do not share.
TEST_CASE("steps with experts are as sure as their dispatcher is known", "[models][uncertainty]") {
  Profile p = gpu_profile();
  const std::vector<double> g(p.schema->places(), 0);
  const auto shared = [&](const char* model, const char* framework, std::optional<double> capacity,
                          double doubt) {
    models::Job job = job_of(model, 1, 4096, 64);
    job.cluster.instance = gpu_machine();
    job.architecture.capacity_factor = capacity;
    p.value(models::gpu::dispatch_spread).median = doubt;
    const models::Strategy s = strategy_of(job, "tp=1,framework=" + std::string(framework));
    return models::spread_parts(p, job, s, g).shared;
  };
  const auto more = [&](const char* model, const char* framework, std::optional<double> capacity) {
    return shared(model, framework, capacity, 0.3) - shared(model, framework, capacity, 1e-30);
  };
  CHECK(more("mixtral-8x7b", "megatron", {}) == Approx(0.09));
  CHECK(more("mixtral-8x7b", "fsdp", {}) == Approx(0.09));
  CHECK(more("mixtral-8x7b", "megatron", 1.0) == 0);
  CHECK(more("llama3-8b", "megatron", {}) == 0);
}

TEST_CASE("a profile fitted to no step is never less sure of one than its prior", "[models]") {
  const models::Job job = job_of("llama2-7b", 4, 4096, 64);
  const Profile prior = datasheet();
  const std::vector<double> g = models::log_gradient(simulate_step(job, strategy_of(job, "tp=8"), prior));
  Profile fitted = prior;
  auto c = calibration({});
  c->covariance = models::covariance_of(prior);
  fitted.calibration = c;
  for (const models::Software& software : {models::Software{}, models::Software{"nxdt", "2.20"}}) {
    models::Job on = job;
    on.software = software;
    const models::Strategy s = strategy_of(job, "tp=8");
    CHECK(models::log_spread(fitted, on, s, g) == Approx(models::log_spread(prior, on, s, g)));
  }
}

// Reported: a learnt profile had the doubt of the general value where the loop has one of its own, 0.25 instead of 0.1.
TEST_CASE("values of a training loop are as sure in a fitted profile as in its prior", "[models]") {
  models::Job job;
  job.architecture = test_catalog().architecture("llama3-8b");
  job.cluster = {test_catalog().instance("p5.48xlarge"), 4};
  job.training = {8192, 512, 0, models::Precision::mixed_precision};
  job.software.framework = "megatron";
  const models::Strategy s = strategy_of(job, "pp=2,framework=megatron");
  const Profile prior = test_catalog().profile("h100");
  Profile fitted = prior;
  auto c = std::make_shared<models::Calibration>();
  c->covariance = models::covariance_of(prior);
  fitted.calibration = c;
  const auto width = [&](const Profile& profile) {
    const models::StepReport r = simulate_step(job, s, profile);
    return std::log(r.high / r.low);
  };
  CHECK(width(fitted) == Approx(width(prior)));
}

TEST_CASE("which strategy is faster counts shared parameters once", "[models]") {
  const models::Job job = job_of("llama2-7b", 4, 4096, 64);
  Profile profile = sure();
  profile.value(models::neuron::matmul_efficiency).log_sd = 0.3;
  profile.value(models::common::configuration_spread).median = 0.05;
  const auto a = simulate_step(job, strategy_of(job, "tp=8"), profile);
  const auto b = simulate_step(job, strategy_of(job, "tp=32"), profile);
  CHECK(probability_faster(a, a, profile) == 0.5);
  CHECK(probability_faster(a, b, profile) + probability_faster(b, a, profile) == Approx(1));
  CHECK((probability_faster(a, b, profile) > 0.5) == (a.step < b.step));

  // A strategy 5 % slower of the same gradient, of whose operators nothing is known: only the configurations'
  // own parts are left, Phi(log 1.05 / (0.05 sqrt 2)) = Phi(0.6900) = 0.7549. Independent parameters would
  // give less.
  auto slower = a;
  slower.by_operator.clear();
  slower.step = slower.step * 1.05;
  for (Seconds& s : slower.by_parameter) s = s * 1.05;
  CHECK(probability_faster(a, slower, profile) == Approx(0.7549).epsilon(1e-3));

  // The covariance counts: the same parameter, known exactly, makes it no less sure.
  const double unsure = probability_faster(a, b, profile);
  profile.value(models::neuron::matmul_efficiency).log_sd = 0;
  CHECK(std::abs(probability_faster(a, b, profile) - 0.5) >= std::abs(unsure - 0.5));
}

TEST_CASE("a job beyond the fitted runs is reported with the quantities beyond", "[models]") {
  const models::Job job = job_of("llama2-7b", 16, 4096, 256);
  const models::Strategy s = strategy_of(job, "tp=8,pp=2");
  Profile profile = datasheet();
  CHECK(models::extrapolations(profile, job, s).empty());
  auto c = calibration({});
  c->ranges = {
      {"nodes", 1, 16}, {"tensor_parallel", 16, 32}, {"sequence", 512, 2048}, {"parameters", 1e9, 1e11}};
  profile.calibration = c;
  const auto beyond = models::extrapolations(profile, job, s);
  REQUIRE(beyond.size() == 2);  // pipeline parallel is not stated
  CHECK(beyond[0].fitted.of == "tensor_parallel");
  CHECK(beyond[0].value == 8);
  CHECK(beyond[1].fitted.of == "sequence");
  CHECK(beyond[1].fitted.high == 2048);
}

TEST_CASE("what is not a covariance is found", "[models]") {
  CHECK(models::is_covariance({{4, 1}, {1, 1}}));
  CHECK(models::is_covariance({{4, 2}, {2, 1}}));  // fully correlated
  CHECK(models::is_covariance({{0, 0}, {0, 1}}));
  CHECK_FALSE(models::is_covariance({{4, 2.1}, {2.1, 1}}));
  CHECK_FALSE(models::is_covariance({{4, 1}, {0.5, 1}}));
  CHECK_FALSE(models::is_covariance({{-1}}));
  CHECK_FALSE(models::is_covariance({{0, 0.1}, {0.1, 1}}));
  CHECK_FALSE(models::is_covariance({{std::nan("")}}));
}
