#include "calibrate/fit/machine_fit.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "calibrate/fit/kernel_bench.h"
#include "models/collective/switched_parameters.h"
#include "models/device/gpu_parameters.h"
#include "tests/calibrate/programs.h"
#include "tests/catch.h"

using namespace trnplan;
using calibrate::MachineFit;
using calibrate::MachineSpreads;
using logs::MeasuredKernel;
using models::Parameter;
using models::Profile;
namespace gpu = models::gpu;
namespace switched = models::switched;

namespace {

const topology::Instance& p5() {
  static const topology::Instance kInstance = test_catalog().instance("p5.48xlarge");
  return kInstance;
}

MachineSpreads spreads() {
  return {.machine = 0.1,
          .kernel = 0.1,
          .collective = 0.15,
          .repeat = 0.03,
          .table = 0.06,
          .between_nodes = 0.2,
          .alone = {{"gpu", {0.94, 0.08, ""}}}};
}

/// The time that the profile says, as a benchmark prints it, times `factor`.
MeasuredKernel timed(const std::string& text, const Profile& profile, double factor = 1) {
  const auto read = logs::parse_kernel(text);
  REQUIRE(read.kernel);
  const double seconds = calibrate::work_of(*read.kernel, p5().core, profile).seconds.value;
  return {"k", *read.kernel, seconds * factor, "", {"k.csv", 2, 1}};
}

MachineFit learn(const std::vector<MeasuredKernel>& rows, const Profile& prior, const MachineSpreads& by) {
  return calibrate::fit_machine(rows, {}, p5(), prior, by);
}

const std::vector<std::string> kGpuProducts = {
    "matmul,m=4096,k=4096,n=4096,dtype=bf16",  "matmul,m=8192,k=4096,n=2048,dtype=bf16",
    "matmul,m=2048,k=8192,n=4096,dtype=bf16",  "matmul,m=4096,k=4096,n=14336,dtype=bf16",
    "matmul,m=16384,k=8192,n=8192,dtype=bf16", "matmul,m=8192,k=14336,n=4096,dtype=bf16"};

}  // namespace

TEST_CASE("one product at twice the time moves the share by the gain", "[calibrate]") {
  // Catches a wrong gain, prior or sign. Only the share is open, and the time is its inverse: with prior variance
  // 0.4^2 + 0.3^2 = 0.25 and noise 0.5^2 = 0.25 the gain is 1/2, so twice the time is a share / 2^(1/2), and a
  // variance of 0.125 is left.
  Profile prior = test_catalog().profile("h100");
  prior.value(gpu::kernel_start) = {1e-30, 0, ""};
  prior.value(gpu::gemm_ramp).log_sd = 0;
  prior.value(gpu::gemm_share).log_sd = 0.4;
  const MachineSpreads by{.machine = 0.3, .kernel = 0.5, .alone = {{"gpu", {1, 0, ""}}}};
  const std::string shape = kGpuProducts.front();
  const MachineFit one = learn({timed(shape, prior, 2)}, prior, by);
  REQUIRE(one.converged);
  CHECK(one.profile[gpu::gemm_share] == Approx(prior[gpu::gemm_share] / std::sqrt(2)).epsilon(1e-6));
  CHECK(one.profile.value(gpu::gemm_share).log_sd == Approx(std::sqrt(0.125)).epsilon(1e-6));
  // Equal rows are one shape: they say no more than one.
  const MeasuredKernel row = timed(shape, prior, 2);
  const MachineFit many = learn({row, row, row}, prior, by);
  CHECK(many.rows.size() == 1);
  CHECK(many.profile[gpu::gemm_share] == Approx(one.profile[gpu::gemm_share]).epsilon(1e-9));
}

TEST_CASE("rows as predicted move nothing, in any order", "[calibrate]") {
  const Profile prior = test_catalog().profile("h100");
  std::vector<MeasuredKernel> rows;
  for (const std::string& shape : kGpuProducts) rows.push_back(timed(shape, prior, 0.94));
  const MachineFit out = learn(rows, prior, spreads());
  CHECK(out.profile[gpu::gemm_share] == Approx(prior[gpu::gemm_share]).epsilon(1e-9));
  std::reverse(rows.begin(), rows.end());
  CHECK(learn(rows, prior, spreads()).profile[gpu::gemm_share] == out.profile[gpu::gemm_share]);
  for (const auto& row : out.rows) CHECK_FALSE(row.contradicts());
}

TEST_CASE("the posterior covers the share of a simulated machine", "[calibrate]") {
  // Catches a noise that is counted twice or not at all: of 200 machines drawn from the model, 90 % intervals hold
  // the true share of 180 +- 4.2 (four standard deviations: 17).
  const Profile prior = test_catalog().profile("h100");
  const MachineSpreads by = spreads();
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  int covered = 0;
  for (int i = 0; i < 200; ++i) {
    Profile truth = prior;
    truth.value(gpu::gemm_share).median *=
        std::exp(std::hypot(prior.value(gpu::gemm_share).log_sd, by.machine) * normal(random));
    const double alone = std::log(0.94) + 0.08 * normal(random);
    std::vector<MeasuredKernel> rows;
    for (const std::string& shape : kGpuProducts) {
      const double noise = std::hypot(by.kernel, by.repeat) * normal(random);
      rows.push_back(timed(shape, truth, std::exp(alone + noise)));
    }
    const MachineFit out = learn(rows, prior, by);
    const double off = std::log(out.profile[gpu::gemm_share] / truth[gpu::gemm_share]);
    covered += std::abs(off) <= 1.645 * out.profile.value(gpu::gemm_share).log_sd;
  }
  CHECK(covered >= 163);
  CHECK(covered <= 197);
}

TEST_CASE("a row that contradicts is named and counts less", "[calibrate]") {
  const Profile prior = test_catalog().profile("h100");
  std::vector<MeasuredKernel> rows;
  for (const std::string& shape : kGpuProducts) rows.push_back(timed(shape, prior, 0.94));
  rows[2].seconds *= 4;
  const MachineFit out = learn(rows, prior, spreads());
  int wrong = 0;
  for (const auto& row : out.rows) {
    if (!row.contradicts()) continue;
    ++wrong;
    CHECK(row.measured == Approx(rows[2].seconds));
  }
  CHECK(wrong == 1);
  CHECK(out.explains());
  // Without the weight the row's log 4 would move the share by about log 4 / 6 times the gain of 0.6, 13 %.
  CHECK(out.profile[gpu::gemm_share] > prior[gpu::gemm_share] * 0.95);
  for (std::size_t i = 0; i < 4; ++i)
    rows[i].seconds = timed(kGpuProducts[i], prior, i % 2 == 0 ? 0.2 : 5).seconds;
  CHECK_FALSE(learn(rows, prior, spreads()).explains());
}

TEST_CASE("attention of a library teaches the loops that run it", "[calibrate]") {
  // Catches a value of a library that the factors of its loops hide, or that reaches other libraries.
  const Profile prior = test_catalog().profile("h100");
  const auto share_for = [](const Profile& profile, const std::string& framework) {
    models::Job job;
    job.software.framework = framework;
    job.cluster.instance = p5();
    return models::with_factors(profile, job)[gpu::attention_share];
  };
  MeasuredKernel row =
      timed("flash_forward,heads=32,sequence=8192,head_dim=128,batch=1,causal=yes,dtype=bf16", prior, 1.5);
  row.library = "flash-attention-2";
  const MachineFit out = learn({row}, prior, spreads());
  CHECK(share_for(out.profile, "fsdp") < share_for(prior, "fsdp"));
  CHECK(share_for(out.profile, "megatron") == share_for(prior, "megatron"));
  CHECK(out.profile[gpu::attention_share] == prior[gpu::attention_share]);
  row.library.clear();  // unknown: the profile's own value
  CHECK(learn({row}, prior, spreads()).profile[gpu::attention_share] < prior[gpu::attention_share]);
}

TEST_CASE("a table between nodes moves what is between nodes", "[calibrate]") {
  // Catches a fit that stays where the links are the narrowest: at the prior's share of the NICs no row of two nodes
  // follows that share, and the links took the blame for a network of half the rate.
  const Profile prior = test_catalog().profile("h100");
  const auto table_of = [&](int ranks, int nodes, double bus) {
    std::vector<logs::MeasuredCollective> points;
    for (double bytes = 0x1p20; bytes <= 0x1p33; bytes *= 2) {
      logs::MeasuredCollective p;
      p.op = "all_reduce";
      p.ranks = ranks;
      p.nodes = nodes;
      p.bytes = bytes;
      p.seconds = 60e-6 + bytes * 2 * (ranks - 1) / ranks / bus;
      points.push_back(p);
    }
    return points;
  };
  const auto learn_table = [&](int ranks, int nodes, double bus) {
    return calibrate::fit_machine({}, table_of(ranks, nodes, bus), p5(), prior, spreads());
  };
  const MachineFit slow = learn_table(16, 2, 200e9);
  CHECK(slow.converged);
  CHECK(slow.explains());
  CHECK(slow.profile[switched::network_share] < 0.8 * prior[switched::network_share]);
  // The profile predicts what was measured: nothing of it is kept apart as the benchmark's own.
  CHECK(calibrate::predict_collectives({table_of(16, 2, 200e9).back()}, p5(), slow.profile).rows[0].error ==
        Approx(0).margin(0.08));
  CHECK(slow.profile[switched::link_share] == Approx(prior[switched::link_share]).epsilon(0.02));
  // In a node there is no network.
  const MachineFit inside = learn_table(8, 1, 300e9);
  CHECK(inside.converged);
  CHECK(inside.profile[switched::network_share] == prior[switched::network_share]);
  CHECK(inside.profile[switched::link_share] < prior[switched::link_share]);
  // Sizes are in the order of numbers, not of their texts.
  for (std::size_t i = 1; i < slow.rows.size(); ++i) CHECK(slow.rows[i - 1].measured < slow.rows[i].measured);
}
