#include "models/memory.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

bool near(Bytes actual, double gib) {
  return std::abs(in_gibibytes(actual) - gib) < 0.005;
}

}  // namespace

// Llama-3 70B, TP 32 PP 8 DP 2, KV heads replicated 4 times: a layer has
//   qkv 8192*(8192/32 + 2*8*4*128/32) + o 8192*256 + gate_up 2*896*8192 + down 896*8192 + norms 2*8192 =
//   28,327,936
// and stage 0 ten of them and 128256/32 * 8192 of embedding: 316,112,896. States: 6N + 12N/2 = 3.79 GB.
TEST_CASE("local parameters of Llama-3 70B", "[models][memory]") {
  const Job job = job_of("llama3-70b", 16, 8192, 1024);
  const Strategy s = strategy_of(job, "tp=32,pp=8,recompute=CoreAttention+LlamaMLP");
  CHECK(s.kv_replicator == 4);
  CHECK(local_parameters(job.architecture, s, 0) == 316'112'896);
  CHECK(local_parameters(job.architecture, s, 1) == 283'279'360);
  const StageMemory first = memory_of(job, s, datasheet()).stages.front();
  CHECK(std::abs((first.parameters + first.gradients + first.optimizer).value - 3.79e9) < 0.01e9);
}

// Llama-3 8B on one node at sequence 8192, TP 8 DP 4, h = 4096, f = 14336 (worked in GiB of 2^30):
//   states 6N + 12N/4 with N = 1,004,146,688 local parameters: 8.42; activations (26h + 8f) s/8 a layer, 32
//   layers: 6.75; logits 14 s V/8: 1.71. Together 16.9 of 16 before staging and reserve: the tutorial's
//   out-of-memory.
TEST_CASE("TP 8 without recompute does not fit, with LlamaMLP it does", "[models][memory]") {
  const Job job = job_of("llama3-8b", 1, 8192, 1024);
  const Memory without = memory_of(job, strategy_of(job, "tp=8"), datasheet());
  const StageMemory& m = without.worst();
  CHECK(near(m.parameters + m.gradients + m.optimizer, 8.42));
  CHECK(near(m.activations, 6.75));
  CHECK(near(m.logits, 1.71));
  CHECK(m.instant == PeakInstant::loss);
  CHECK_FALSE(without.fits());

  const Memory with = memory_of(job, strategy_of(job, "tp=8,recompute=CoreAttention+LlamaMLP"), datasheet());
  CHECK(near(with.worst().activations, 3.25));  // 26h s/8 a layer
  CHECK(with.fits());
}

// bytes a layer at s = 8192, TP 32: none (26h+8f)s/32 = 56.6 MB, LlamaMLP 26h s/32 = 27.3 MB,
// LlamaRMSNorm+ActivationMultiplyMLP (18h+6f)s/32 = 40.9 MB, full 2h s/32 = 2.1 MB.
TEST_CASE("activations by recompute policy", "[models][memory]") {
  const Job job = job_of("llama3-8b", 4, 8192, 1024);  // DP 4: the optimizer step is not the peak
  struct Case {
    const char* policy;
    double megabytes_a_layer;
  };
  const auto c = GENERATE(values<Case>(
      {{"none", 56.62}, {"LlamaMLP", 27.26}, {"LlamaRMSNorm+ActivationMultiplyMLP", 40.89}, {"full", 2.10}}));
  CAPTURE(c.policy);
  const Memory m = memory_of(job, strategy_of(job, std::string("tp=32,recompute=") + c.policy), datasheet());
  CHECK(std::abs(m.worst().activations.value / 32 / 1e6 - c.megabytes_a_layer) < 0.01);
}

TEST_CASE("1F1B keeps min(m, PP - stage) micro-batches", "[models][memory]") {
  const Job job = job_of("llama3-70b", 16, 8192, 1024);
  const Memory m =
      memory_of(job, strategy_of(job, "tp=32,pp=8,recompute=CoreAttention+LlamaMLP"), datasheet());
  REQUIRE(m.stages.size() == 8);
  for (const StageMemory& s : m.stages) CHECK(s.in_flight == 8 - s.stage);
  const Job few = job_of("llama3-70b", 16, 8192, 4);  // 2 micro-batches
  CHECK(memory_of(few, strategy_of(few, "tp=32,pp=8"), datasheet()).stages[0].in_flight == 2);
}

TEST_CASE("remainder layers go to the last stages, cuts name the last layer of each", "[models][memory]") {
  Architecture a = test_catalog().architecture("llama3.1-405b");
  Strategy s;
  s.pipeline_parallel = 32;
  const auto layers = layers_per_stage(a, s);  // 126 = 2 * 3 + 30 * 4
  CHECK(layers[0] == 3);
  CHECK(layers[1] == 3);
  CHECK(layers[2] == 4);
  CHECK(layers[31] == 4);
  a.layers = 80;
  s.pipeline_parallel = 4;
  s.pipeline_cuts = {18, 39, 60};
  CHECK(layers_per_stage(a, s) == std::vector<int>{19, 21, 21, 19});
}

// ZeRO-1 pads each weight's rows to a multiple of D: 896 gate_up rows of a rank over D = 256 become 1024, +14
// %.
TEST_CASE("ZeRO-1 padding", "[models][memory]") {
  const Job small = job_of("llama3-8b", 1, 8192, 1024);
  const Job large = job_of("llama3-8b", 256, 8192, 1024);
  const Strategy one = strategy_of(small, "tp=32"), many = strategy_of(large, "tp=32");
  CHECK(many.data_parallel == 256);
  const double n = local_parameters(small.architecture, one, 0);
  CHECK(memory_of(small, one, datasheet()).worst().optimizer.value == 12 * n);
  CHECK(memory_of(large, many, datasheet()).worst().optimizer.value > 12 * n / 256 * 1.03);
}

TEST_CASE("the parts add up to the peak and precision changes the states", "[models][memory]") {
  const Job job = job_of("llama3-8b", 1, 8192, 1024);
  Strategy s = strategy_of(job, "tp=32");
  const double n = local_parameters(job.architecture, s, 0);
  struct Case {
    Precision precision;
    double states;  // bytes a parameter, D = 1
  };
  const auto c = GENERATE(values<Case>({{Precision::mixed_precision, 18},
                                        {Precision::autocast, 18},
                                        {Precision::bf16_sr, 10},
                                        {Precision::fp32, 20}}));
  s.precision = c.precision;
  const StageMemory m = memory_of(job, s, datasheet()).worst();
  CHECK((m.parameters + m.gradients + m.optimizer).value == c.states * n);
}

// Published cases (aws-neuron/aws-neuron-sdk benchmarks, neuronx-distributed-training examples/conf, and the
// tutorial of 2026-01-17): what ran must fit, what ran out of memory must not.
TEST_CASE("published layouts fit or not", "[models][memory]") {
  struct Case {
    const char* model;
    int nodes, sequence, batch;
    const char* strategy;
    bool fits;
  };
  const auto c = GENERATE(values<Case>({
      {"llama3-8b", 1, 8192, 1024, "tp=32", true},
      {"llama3-8b", 1, 8192, 1024, "tp=8", false},
      {"llama3-8b", 4, 8192, 1024, "tp=32", true},
      {"llama3-70b", 16, 8192, 1024, "tp=32,pp=8,recompute=CoreAttention+LlamaMLP", true},
      {"llama3-70b", 32, 8192, 1024, "tp=32,pp=8,recompute=CoreAttention+LlamaMLP", true},
      {"llama3.1-405b", 64, 8192, 256, "tp=32,pp=32,recompute=full", true},
      {"llama2-7b", 1, 4096, 1024, "tp=8,recompute=CoreAttention", true},
      {"llama2-7b", 16, 4096, 1024, "tp=8,recompute=CoreAttention", true},
      {"llama2-13b", 32, 4096, 1024, "tp=8,pp=4,recompute=CoreAttention", true},
      {"llama2-70b", 32, 4096, 1024, "tp=32,pp=4,recompute=CoreAttention", true},
      {"llama2-70b", 8, 4096, 512, "tp=8,pp=16,recompute=full", true},
  }));
  CAPTURE(c.model, c.strategy);
  const Job job = job_of(c.model, c.nodes, c.sequence, c.batch);
  CHECK(memory_of(job, strategy_of(job, c.strategy), datasheet()).fits() == c.fits);
}
