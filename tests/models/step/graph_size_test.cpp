#include "models/step/graph_size.h"

#include <cmath>

#include "models/device/devices.h"
#include "models/device/neuron_core_parameters.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

// 4096 x 4096 times 4096 x 1024: 32 tiles of K, 8 of the width, 8 runs of 512 rows: 64 results of 32 products at two
// instructions each, and one to take each result out: 64 * 65 = 4160. A norm of 5 passes over 1024 x 4096 elements:
// 5 * 64 runs of 128 x 512 = 320.
TEST_CASE("a NeuronCore counts the instructions of operators", "[models][compile]") {
  const topology::Core core = job_of("llama3-8b", 1, 8192, 1024).cluster.instance.core;
  const Profile profile = datasheet();
  const DeviceContext on{core, profile};
  const Device& device = device_of(core);
  CHECK(device.matmul(on, {4096, 4096, 1024}).instructions == 4160);
  CHECK(device.elements(on, kNorm, 1024, 4096).instructions == 320);
  REQUIRE(device.graph_limit());
  CHECK(device.graph_limit()->instructions == 5e6);
  // One head, 4096 tokens: 32 x 8 products of two instructions a unit, and 2 passes over 4096^2 scores, 512 runs.
  CHECK(device.flash_attention(on, {1, 1, 4096, 128, 2, 1}).instructions == 2 * (512 + 512));
}

TEST_CASE("graphs grow with micro-batch, sequence and layers, and shrink with TP and PP",
          "[models][compile]") {
  const Profile profile = datasheet();
  const Job job = job_of("llama2-7b", 4, 4096, 1024);
  const auto size = [&](const char* strategy) {
    return largest_graph(job, strategy_of(job, strategy), profile);
  };
  const GraphSize one = size("tp=8");
  CHECK(one.whole_micro_batch);
  CHECK(one.layers == 32);
  CHECK(one.expected == Approx(one.counted * profile[neuron::graph_instructions]));
  CHECK(size("tp=8,mbs=2").counted > 1.8 * one.counted);
  CHECK(size("tp=16").counted < 0.6 * one.counted);
  const GraphSize half = size("tp=8,pp=2");
  CHECK_FALSE(half.whole_micro_batch);
  CHECK(half.backward);
  CHECK(half.layers == 16);
  CHECK(half.counted < 0.4 * one.counted);
  CHECK(size("tp=8,recompute=full").counted > one.counted);
  CHECK(size("tp=8,mbs=2").compile_probability() < one.compile_probability());
}

// Phi(ln(limit / expected) / log-sd); distance adds in squares.
TEST_CASE("how probably a graph compiles", "[models][compile]") {
  GraphSize g;
  CHECK(g.compile_probability() == 1);
  g.limit = 5e6;
  g.expected = 5e6 / std::exp(0.4);
  g.log_sd = 0.4;
  CHECK(g.compile_probability() == Approx(0.8413).epsilon(0).margin(1e-4));
  CHECK(g.compile_probability(0.3) == Approx(0.7881).epsilon(0).margin(1e-4));  // Phi(0.4 / 0.5)
  g.expected = 0;
  CHECK(g.compile_probability() == 1);
}

TEST_CASE("a GPU takes graphs of any size", "[models][compile]") {
  Job job = job_of("llama3-8b", 1, 8192, 1024);
  job.cluster = {gpu_machine(), 4};
  const GraphSize g = largest_graph(job, strategy_of(job, "tp=8"), gpu_profile());
  CHECK(g.limit == 0);
  CHECK(g.compile_probability() == 1);
}
