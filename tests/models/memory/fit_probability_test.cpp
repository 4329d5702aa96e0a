#include "models/memory/fit_probability.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "units/normal.h"
#include "units/quantity.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// One instant alone.
StageMemory stage_of(double states, double activations, double transient, double runtime) {
  StageMemory m;
  m.one_graph = true;
  m.parameters = Bytes(states * kGiB);
  m.activations = Bytes(activations * kGiB);
  m.logits = Bytes(transient * kGiB);
  m.runtime = Bytes(runtime * kGiB);
  m.moments[0] = {PeakInstant::loss, m.activations, m.logits, {}};
  m.moments[1].instant = PeakInstant::backward;
  m.moments[2].instant = PeakInstant::optimizer;
  return m;
}

Profile doubtful(double activations, double transient, double runtime, double fragmentation) {
  Profile p = datasheet();
  p.value(common::fused_activations) = {1, activations, ""};
  p.value(common::transient_memory) = {1, transient, ""};
  p.value(common::runtime_reserve).log_sd = runtime;
  p.value(common::fragmentation) = {1, fragmentation, ""};
  return p;
}

/// Of a sequence that fills the unit interval evenly (J. H. Halton, 1960).
double halton(int i, int base) {
  double f = 1, r = 0;
  for (int k = i + 1; k > 0; k /= base) {
    f /= base;
    r += f * (k % base);
  }
  return r;
}

}  // namespace

// One uncertain term: 4 GiB of activations with a log-sd of 0.2 in a room of 6 GiB: Phi(ln(1.5)/0.2) =
// Phi(2.027) = 0.9787. With a further log-sd of 0.15 for distance: sqrt(0.2^2 + 0.15^2) = 0.25, Phi(1.622) =
// 0.9476.
TEST_CASE("one uncertain factor is exact, and distance widens it", "[models][memory]") {
  const StageMemory m = stage_of(10, 4, 0, 0);
  const Profile p = doubtful(0.2, 0.3, 0, 0);
  CHECK(probability_of_fitting(m, Bytes(16 * kGiB), p) == Approx(0.9787).epsilon(0).margin(1e-4));
  CHECK(probability_of_fitting(m, Bytes(16 * kGiB), p, 0.15) == Approx(0.9476).epsilon(0).margin(1e-4));
  const FitDistribution d = fit_distribution(m, Bytes(16 * kGiB), p, 0.15);
  CHECK(d.sure == Bytes(10 * kGiB));
  CHECK(in_gibibytes(d.median) == Approx(14));
  CHECK(d.log_sd == Approx(0.25));
  CHECK(d.instant == PeakInstant::loss);
}

TEST_CASE("the closed form is within 0.01 of sums drawn evenly", "[models][memory]") {
  constexpr int kDraws = 20000;
  const double terms[][3] = {{7, 1.7, 0.7}, {5, 3, 0.7},   {1, 6, 0.7},
                             {3, 3, 3},     {2, 0.1, 0.7}, {0.5, 0.5, 0.7}};
  for (const double extra : {0.0, 0.3}) {
    for (const auto& [activations, transient, runtime] : terms) {
      const Profile p = doubtful(0.18, 0.38, 0.35, 0.06);
      std::vector<double> sums;
      for (int i = 0; i < kDraws; ++i) {
        const auto drawn = [&](int base, double sd) {
          return std::exp(sd * normal_quantile(halton(i, base)));
        };
        const double tensors = activations * drawn(2, 0.18) + transient * drawn(3, 0.38);
        sums.push_back((tensors * drawn(7, 0.06) + runtime * drawn(5, 0.35)) * drawn(11, extra));
      }
      std::sort(sums.begin(), sums.end());
      for (const double q : {0.05, 0.3, 0.5, 0.7, 0.9, 0.97}) {
        CAPTURE(activations, transient, runtime, extra, q);
        const Bytes limit((1 + sums[static_cast<std::size_t>(q * kDraws)]) * kGiB);
        const double is =
            probability_of_fitting(stage_of(1, activations, transient, runtime), limit, p, extra);
        CHECK(is == Approx(q).epsilon(0).margin(0.01));
      }
    }
  }
}

TEST_CASE("more bytes never fit more probably, and states that exceed the core never fit",
          "[models][memory]") {
  const Profile p = datasheet();
  const Bytes limit(16 * kGiB);
  for (int i = 0; i < 3000; ++i) {
    std::array<double, 4> gib{};
    for (int k = 0; k < 4; ++k) gib[static_cast<std::size_t>(k)] = 14 * std::pow(halton(i, 2 + k), 2) + 1e-3;
    const auto at = [&](const std::array<double, 4>& g) {
      StageMemory m = stage_of(g[0], g[1], g[2], g[3] / 4);
      m.one_graph = i % 2 == 0;
      return probability_of_fitting(m, limit, p);
    };
    const double before = at(gib);
    for (std::size_t k = 0; k < 4; ++k) {
      std::array<double, 4> more = gib;
      more[k] *= 1.05;
      CAPTURE(i, k, gib[0], gib[1], gib[2], gib[3], before);
      CHECK(at(more) <= before + 1e-7);
    }
    if (gib[0] > 16) CHECK(before == 0);
  }
  CHECK(probability_of_fitting(stage_of(16.01, 0, 0, 0.1), limit, p) == 0);
}

TEST_CASE("a test of one probability is that probability, where the count fits", "[models][memory]") {
  const Profile p = datasheet();
  const Bytes limit(16 * kGiB);
  int fitting = 0;
  for (const double wanted : {0.3, 0.5, 0.9, 0.99}) {
    const FitTest test(wanted, p);
    for (int i = 0; i < 2000; ++i) {
      StageMemory m = stage_of(16 * halton(i, 2), 16 * halton(i, 3), 5 * halton(i, 5), 0.7);
      m.one_graph = i % 2 == 0;
      m.pooled = i % 3 == 0;
      const double is = probability_of_fitting(m, limit, p);
      const bool fits = m.peak() <= limit && is >= std::max(wanted, kLeastFitProbability);
      CAPTURE(i, wanted, is);
      CHECK(test.fits(m, limit) == fits);
      fitting += fits;
    }
  }
  CHECK(fitting > 500);
}

// Activations decide at the loss, where they are as many as in the backward and the logits come on top; a stage
// without logits is decided by its backward.
// Fragmentation of 1.1 with a log-sd of 0.05 alone: 10 GiB of states and 4 of activations hold 15.4; a log-sd more is
// one standard deviation, where Student's t with three degrees of freedom is 1/2 + (x / (1 + x^2) + atan x) / pi =
// 0.8045 with x = 1 / sqrt 3. A test of that probability agrees on either side.
TEST_CASE("a pool's fragmentation counts for its states, with the tails of Student's t", "[models][memory]") {
  StageMemory m = stage_of(10, 4, 0, 0);
  m.pooled = true;
  Profile p = doubtful(0, 0, 0, 0.05);
  p.value(common::fragmentation).median = 1.1;
  const double held = 1.1 * 14 * kGiB;
  CHECK(probability_of_fitting(m, Bytes(held), p) == Approx(0.5).margin(1e-6));
  CHECK(probability_of_fitting(m, Bytes(held * std::exp(0.05)), p) == Approx(0.8045).margin(1e-4));
  CHECK(probability_of_fitting(m, Bytes(held * std::exp(-0.05)), p) == Approx(0.1955).margin(1e-4));
  const FitTest test(0.8, p);
  CHECK(test.fits(m, Bytes(held * std::exp(0.05))));
  CHECK_FALSE(test.fits(m, Bytes(held * std::exp(0.048))));
  CHECK(held_by(m, p, HeldMemory::allocated, Bytes(80 * kGiB)) == Bytes(14 * kGiB));
  CHECK(held_by(m, p, HeldMemory::reserved, Bytes(80 * kGiB)).value == Approx(held));
}

TEST_CASE("the worst stage and instant decide", "[models][memory]") {
  const Job job = job_of("llama3-70b", 16, 8192, 1024);
  const Memory memory = memory_of(job, strategy_of(job, "tp=32,pp=8"), datasheet());
  double least = 1;
  for (const StageMemory& m : memory.stages)
    least = std::min(least, probability_of_fitting(m, memory.limit, datasheet()));
  CHECK(memory.fit_probability == least);
}

TEST_CASE("a profile that states no doubt counts as the table does", "[models][memory]") {
  const Profile p = gpu_profile();  // its reserve has a log-sd of 0.1
  StageMemory m = stage_of(60, 10, 5, 2);
  CHECK(probability_of_fitting(m, Bytes(77 * kGiB), p) == Approx(0.5));
  m.one_graph = false;
  CHECK(probability_of_fitting(m, Bytes(77 * kGiB), p) == Approx(0.5));
}

// Tensors are taken for exact and the runtime's share alone is uncertain, as on GPUs: 70 GiB of tensors leave 10 of 80,
// P = Phi(ln(10 / 2.8) / 0.4) = Phi(3.1824) = 0.99927; 79 leave 1, Phi(-2.5740) = 0.00503; 81 leave nothing, however
// little the rest is, at whatever instant.
TEST_CASE("what is exact takes its share of the room first", "[models][memory]") {
  const Profile p = doubtful(0, 0, 0.4, 0);
  const Bytes limit(80 * kGiB);
  CHECK(probability_of_fitting(stage_of(0, 50, 20, 2.8), limit, p) ==
        Approx(0.99927).epsilon(0).margin(1e-5));
  CHECK(probability_of_fitting(stage_of(0, 50, 29, 2.8), limit, p) ==
        Approx(0.00503).epsilon(0).margin(1e-5));
  for (const double tensors : {81.0, 116.0, 1000.0}) {
    CHECK(probability_of_fitting(stage_of(0, tensors, 0, 2.8), limit, p) < 1e-12);
    CHECK(probability_of_fitting(stage_of(0, 1, tensors, 0), limit, p) < 1e-12);
  }
}
