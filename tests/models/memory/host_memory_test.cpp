#include "models/memory/host_memory.h"

#include <cmath>

#include "models/memory/memory.h"
#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

// aws-neuron/neuronx-distributed-training docs/general/known_issues.rst: Llama-2 70B, TP 32 on 32 nodes needs
// 270 GB of 512 and up to 482 GB with asynchronous checkpoints.
TEST_CASE("host memory of the published job", "[models][memory]") {
  const Job job = job_of("llama2-70b", 32, 4096, 1024);
  for (const char* layout : {"tp=32,pp=8", "tp=32,pp=4"}) {
    CAPTURE(layout);
    const Strategy s = strategy_of(job, layout);
    CHECK(std::abs(host_memory_of(job, s).peak().value / 1e9 - 270) < 4);
    const HostMemory async = host_memory_of(job, s, {.asynchronous = true});
    CHECK(std::abs(async.peak().value / 1e9 - 482) < 3);
    CHECK(async.fits());
  }
}

TEST_CASE("a checkpoint without xser holds the whole state of every rank", "[models][memory]") {
  const Job job = job_of("llama2-70b", 8, 4096, 512);
  const Strategy s = strategy_of(job, "tp=8,pp=16,recompute=full");
  const HostMemory m = host_memory_of(job, s, {.xser = false});
  const double n = local_parameters(job.architecture, s, 0);  // as the last stage, but for the norm
  CHECK(std::abs(m.staged.value - 32 * (4 + 8 / 2.0) * n) <= 32 * 8 * 8192.0);
  CHECK(m.staged > 10 * host_memory_of(job, s).staged);
}

// Catches: what all tokens share counted once for each rank of experts (Mixtral at EP 8: 695 GB instead of 560).
TEST_CASE("a checkpoint is as large wherever its experts are", "[models][memory]") {
  Job job = job_of("mixtral-8x7b", 4, 4096, 64);
  const double apart = checkpoint_bytes(job, strategy_of(job, "tp=4,pp=1,ep=8")).value;
  CHECK(apart == checkpoint_bytes(job, strategy_of(job, "tp=4,pp=1,ep=1")).value);
  CHECK(apart == Approx(12.0 * static_cast<double>(parameters(job.architecture))).epsilon(0.001));
}

// Weights and moments in fp32, 12 bytes a parameter; the published checkpoint of a 70B is about 850 GB.
TEST_CASE("checkpoint size", "[models][memory]") {
  const Job job = job_of("llama3-70b", 16, 8192, 1024);
  Strategy s = strategy_of(job, "tp=8,pp=8");
  CHECK(std::abs(checkpoint_bytes(job, s).value / 1e9 - 850) < 5);
}
