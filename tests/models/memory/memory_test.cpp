#include "models/memory/fit_probability.h"

#include <algorithm>
#include <cmath>

#include "models/framework/partition.h"
#include "models/memory/memory.h"
#include "models/memory/stage_memories.h"
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
//   out-of-memory. It is a coin toss where one graph may fuse down to (12h + 4f) s/8.
TEST_CASE("TP 8 without recompute does not fit, with LlamaMLP it does", "[models][memory]") {
  const Job job = job_of("llama3-8b", 1, 8192, 1024);
  const Memory without = memory_of(job, strategy_of(job, "tp=8"), datasheet());
  const StageMemory& m = without.worst();
  CHECK(near(m.parameters + m.gradients + m.optimizer, 8.42));
  CHECK(near(m.activations, 6.75));
  CHECK(near(m.logits, 1.71));
  CHECK(m.instant == PeakInstant::loss);
  CHECK(m.peak() > without.limit);
  CHECK(without.fit_probability < 0.6);

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
    double states;  // bytes per parameter, D = 1
  };
  const auto c = GENERATE(values<Case>({{Precision::mixed_precision, 18},
                                        {Precision::autocast, 18},
                                        {Precision::manual, 18},
                                        {Precision::bf16_sr, 10},
                                        {Precision::fp32, 20}}));
  s.precision = c.precision;
  const StageMemory m = memory_of(job, s, datasheet()).worst();
  CHECK((m.parameters + m.gradients + m.optimizer).value == c.states * n);
}

// Published cases (aws-neuron/aws-neuron-sdk benchmarks, neuronx-distributed-training examples/conf, and the
// tutorial of 2026-01-17): a layout that ran must fit as the search requires; one that ran out of memory must
// not.
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
  CHECK((memory_of(job, strategy_of(job, c.strategy), datasheet()).fit_probability >= 0.9) == c.fits);
}

// With embedding and head on the rank: 32 layers of 6,823,936, 2 * 128256/32 * 4096 and 4096 = 276,369,408 at
// KV heads replicated 4 times; 6N + 12N/4 = 2.49 GB.
TEST_CASE("local parameters of Llama-3 8B", "[models][memory]") {
  const Job job = job_of("llama3-8b", 4, 8192, 1024);
  const Strategy s = strategy_of(job, "tp=32");
  CHECK(s.data_parallel == 4);
  CHECK(local_parameters(job.architecture, s, 0) == 276'369'408);
  const StageMemory m = memory_of(job, s, datasheet()).worst();
  CHECK(std::abs((m.parameters + m.gradients + m.optimizer).value - 2.49e9) < 0.005e9);
}

TEST_CASE("an unsplit rank holds every parameter", "[models][memory]") {
  for (const std::string& name : test_catalog().models()) {
    CAPTURE(name);
    const Architecture a = test_catalog().architecture(name);
    CHECK(local_parameters(a, Strategy{}, 0) == static_cast<double>(parameters(a)));
  }
}

TEST_CASE("more tensor parallel never means more parameters a core", "[models][memory]") {
  for (const std::string& name : test_catalog().models()) {
    const Architecture a = test_catalog().architecture(name);
    double before = local_parameters(a, Strategy{}, 0);
    for (const int t : {2, 4, 8, 16, 32, 64}) {
      CAPTURE(name, t);
      Strategy s;
      s.tensor_parallel = t;
      s.kv_replicator = std::max(1, t / a.kv_heads);
      const double now = local_parameters(a, s, 0);
      CHECK(now <= before);
      before = now;
    }
  }
}

// 70B, TP 32 PP 8, sequence 8192, stage 0: 8 micro-batches of 10 layers, x = 256. None (26h+8f)x, LlamaMLP
// 26hx, RMSNorm and product (18h+6f)x, full 2hx; and for each micro-batch input, output and tables of 4 MiB.
TEST_CASE("activations of Llama-3 70B by recompute policy", "[models][memory]") {
  const Job job = job_of("llama3-70b", 16, 8192, 1024);
  struct Case {
    const char* policy;
    double megabytes_a_layer, gigabytes;
  };
  const auto c = GENERATE(values<Case>({{"none", 113.2, 9.06},
                                        {"LlamaMLP", 54.5, 4.36},
                                        {"LlamaRMSNorm+ActivationMultiplyMLP", 81.8, 6.54},
                                        {"full", 4.19, 0.336}}));
  CAPTURE(c.policy);
  const Memory m =
      memory_of(job, strategy_of(job, std::string("tp=32,pp=8,recompute=") + c.policy), datasheet());
  const double layers = m.stages[0].moments[1].activations.value - 8 * 3 * 4'194'304.0;
  CHECK(std::abs(layers / 1e9 - c.gigabytes) < 0.005);
  CHECK(std::abs(layers / 80 / 1e6 - c.megabytes_a_layer) < 0.05);
}

// Korthikanti et al. 2022, table 2: activations of a layer by parallelism and recomputation,
//   none                          s b h (34 + 5 a s / h)
//   tensor                        s b h (10 + 24 / t + 5 a s / (h t))
//   tensor and sequence           s b h (34 / t + 5 a s / (h t))
//   with selective recomputation  the same without the last term
//   full recomputation            2 s b h; with sequence parallel divided by t, as its input is
// Three counts differ here: the fp32 copies and normalised values of both norms are kept (+8 to the 10, not
// in the 24), masks of dropout are not (-2 there, -1 of the 5), and the softmax is kept in fp32 and bf16 (6)
// instead of bf16 with the dropped product (2 + 2).
TEST_CASE("activations agree with those of Korthikanti et al.", "[models][memory]") {
  const Job job = job_of("gpt3-175b", 1, 2048, 64);
  const double s = 2048, h = 12288, a = 96, b = 2;
  struct Row {
    const char* text;
    double outside, inside, scores, t;  ///< of s b h, s b h / t, a s^2 b / t
  };
  const auto row = GENERATE(values<Row>({{"tp=1,recompute=none", 10, 24, 5, 1},
                                         {"tp=1,recompute=CoreAttention", 10, 24, 0, 1},
                                         {"tp=1,recompute=full", 2, 0, 0, 1},
                                         {"tp=32,sp=false,recompute=none", 10, 24, 5, 32},
                                         {"tp=32,sp=false,recompute=CoreAttention", 10, 24, 0, 32},
                                         {"tp=8,sp=false,recompute=CoreAttention", 10, 24, 0, 8},
                                         {"tp=32,sp=false,recompute=full", 2, 0, 0, 32},
                                         {"tp=32,recompute=none", 0, 34, 5, 32},
                                         {"tp=8,recompute=none", 0, 34, 5, 8},
                                         {"tp=32,recompute=CoreAttention", 0, 34, 0, 32},
                                         {"tp=32,recompute=full", 0, 2, 0, 32}}));
  CAPTURE(row.text);
  Strategy strategy = strategy_of(job, std::string(row.text) + ",flash=false");
  strategy.micro_batch = static_cast<int>(b);
  const double layer = memory_of(job, strategy, datasheet()).stages[0].moments[1].activations.value / 96;
  const double norms = row.outside == 10 || row.inside == 34 ? 8 - 2 : 0;  // if they are kept
  const double outside = row.outside + (row.outside == 10 ? norms : 0),
               inside = row.inside + (row.inside == 34 ? norms : 0);
  const double scores = row.scores == 5 ? 5 - 1 - 4 + 6 : 0;
  CHECK(layer == s * b * h * (outside + inside / row.t) + scores * a * s * s * b / row.t);
}

// Section 4.2.3 of the same paper: the first stage of 1F1B holds p micro-batches of L / p layers, as much as
// all layers of one micro-batch; interleaved with v chunks 1 + (p - 1) / (p v) times that.
TEST_CASE("activations of the first stage agree with those of Korthikanti et al.", "[models][memory]") {
  Job job = job_of("gpt3-175b", 8, 2048, 64);
  const auto in_layers = [&](const std::string& text) {
    const StageMemory m = memory_of(job, strategy_of(job, text + ",flash=false"), datasheet()).stages[0];
    return (m.moments[1].activations - m.in_flight * m.per_pass) / m.per_layer;
  };
  for (const int p : {2, 4, 8}) {
    const std::string stages = "tp=32,pp=" + std::to_string(p);
    CHECK(in_layers(stages) == 96);
    for (const int v : {2, 3, 4}) {
      CAPTURE(p, v);
      CHECK(in_layers(stages + ",vpp=" + std::to_string(v)) == Approx(96 * (1 + (p - 1.0) / (p * v))));
    }
  }
}

// PP 8 VPP 2, 512 micro-batches: stage 0 warms up 2*7 + 8 = 22 and holds 23 chunks of 5 layers, stage 7 8
// + 1.
TEST_CASE("interleaved schedule", "[models][memory]") {
  const Job job = job_of("llama3-70b", 16, 8192, 1024);
  const Strategy s = strategy_of(job, "tp=32,pp=8,vpp=2,recompute=CoreAttention+LlamaMLP");
  const Memory m = memory_of(job, s, datasheet());
  CHECK(m.stages[0].in_flight == 23);
  CHECK(m.stages[7].in_flight == 9);
  CHECK(m.stages[0].layers == 10);
  const Architecture& a = job.architecture;
  CHECK(residencies(a, s, 512)[0].most.layers == 23 * 5);
  CHECK(residencies(a, s, 8)[0].most.passes == 16);  // m = PP: all forwards first
  CHECK(residencies(a, s, 8)[7].most.layers == 80);
  CHECK(local_parameters(a, s, 0) == 316'112'896);  // as without it: 10 layers and the embedding
  const double layer = 26 * 8192.0 * 8192 / 32;
  CHECK(m.stages[0].moments[1].activations.value == layer * 115 + 23 * 3 * 4'194'304.0);
}

// 126 layers over PP 4 VPP 3: parts 0-5 have 10, 6-11 have 11; stage s holds parts s, s+4, s+8.
TEST_CASE("interleaved schedule with chunks of unequal length", "[models][memory]") {
  const Architecture a = test_catalog().architecture("llama3.1-405b");
  Strategy s;
  s.pipeline_parallel = 4;
  s.virtual_pipeline = 3;
  const std::vector<int> parts = {10, 10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11};
  CHECK(layers_per_chunk(a, s) == parts);
  for (const int m : {8, 12, 40}) {
    for (int stage = 0; stage < 4; ++stage) {
      CAPTURE(m, stage);
      // Every event of the stage, one at a time: the layers alive after each forward.
      const auto length = [&](int chunk) { return parts[static_cast<std::size_t>(4 * chunk + stage)]; };
      const int warm_up = std::min(2 * (3 - stage) + 2 * 4, 3 * m);
      int alive = 0, most = 0, chunks = 0, most_chunks = 0;
      for (int f = 0; f < 3 * m; ++f) {
        if (f > warm_up) {
          alive -= length(2 - (f - warm_up - 1) % 12 / 4);
          --chunks;
        }
        alive += length(f % 12 / 4);
        most = std::max(most, alive);
        most_chunks = std::max(most_chunks, ++chunks);
      }
      CHECK(residencies(a, s, m)[static_cast<std::size_t>(stage)].most.layers == most);
      CHECK(residencies(a, s, m)[static_cast<std::size_t>(stage)].most.passes == most_chunks);
    }
  }
}

// Sequence 8192 over CP 2: half the tokens per rank, and ZeRO-1 over DP * CP instead of DP.
TEST_CASE("context parallel", "[models][memory]") {
  const Job job = job_of("llama3-70b", 16, 8192, 1024);
  const std::string rest = ",recompute=CoreAttention+LlamaMLP";
  const Memory whole = memory_of(job, strategy_of(job, "tp=32,pp=8" + rest), datasheet());
  const Memory halves = memory_of(job, strategy_of(job, "tp=32,pp=8,cp=2" + rest), datasheet());
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(halves.stages[i].moments[1].activations.value == whole.stages[i].moments[1].activations.value / 2);
    CHECK(halves.stages[i].optimizer.value == whole.stages[i].optimizer.value);  // DP 2 CP 1, DP 1 CP 2
  }
  // Staging of a layer's backward: 2 gathered, the MLP recomputed, and 12 q x of K, V and their gradients.
  const double x = 4096.0 / 32;
  CHECK(halves.stages[0].moments[1].staging.value == 2 * 2 * 4096.0 * 8192 + 8 * 28672 * x + 12 * 8192 * x);
}

// Mixtral 8x7B, TP 32, KV heads replicated 4 times, a layer: attention 4096*(128 + 256) + 128*4096, norms
// 8192, router 8*4096, experts 8*4096*(896 + 448): 46,178,304; 8 of them on a middle stage.
TEST_CASE("mixture of experts", "[models][memory]") {
  Job job = job_of("mixtral-8x7b", 8, 4096, 128);
  const Strategy s = strategy_of(job, "tp=32,pp=4,recompute=full");
  CHECK(s.data_parallel == 2);
  const double n = 8 * 46'178'304.0, experts = 8 * 44'040'192.0;
  CHECK(local_parameters(job.architecture, s, 1) == n);
  const StageMemory m = memory_of(job, s, datasheet()).stages[1];
  CHECK(m.optimizer.value == 6 * n);

  // EP 2 halves the experts of a rank; their states are then whole on it (expert-DP 1) instead of halved.
  Strategy spread = s;
  spread.expert_parallel = 2;
  const StageMemory e = memory_of(job, spread, datasheet()).stages[1];
  CHECK(e.parameters.value == 2 * (n - experts / 2));
  CHECK(e.optimizer.value == m.optimizer.value);
  CHECK(e.moments[2].staging < m.moments[2].staging);  // two optimizers, one after the other

  // 8 experts over D = 16 are padded to 16 rows: twice the states. The router's 8 rows too.
  Strategy wide = s;
  wide.data_parallel = 16;
  const double router = 8 * 8 * 4096.0;
  CHECK(memory_of(job, wide, datasheet()).stages[1].optimizer.value ==
        12 * (n - experts - router) / 16 + 12 * (experts + router) / 8);

  // 4096 tokens, 2 experts each, capacity factor 2: 16384 places of (2h + 4f/T) and the gathered tokens.
  Strategy none = s;
  none.recompute = {};
  none.flash_attention = true;
  const double layer = 26 * 4096 * 128.0 + 2 * (8192 + 4 * 448) * 16384.0 + 2 * 4096 * 4096.0;
  const double passing = 4 * (2 * 2 * 4096 * 128.0 + 2 * 2 * 4096 * 128.0);  // in, out, tables; 4 in flight
  CHECK(memory_of(job, none, datasheet()).stages[0].moments[1].activations.value == 32 * layer + passing);
  job.architecture.capacity_factor = 0;  // dropless: 8192 places
  CHECK(memory_of(job, none, datasheet()).stages[0].moments[1].activations.value ==
        32 * (layer - 2 * (8192 + 4 * 448) * 8192.0) + passing);
}

// BERT-Large, data parallel without ZeRO-1, as AWS trains it: 2 + 2 + 4 bytes per parameter whatever DP.
TEST_CASE("BERT-Large, data parallel", "[models][memory]") {
  const Job job = job_of("bert-large", 16, 128, 8192);
  const Strategy s = strategy_of(job, "tp=1,mbs=16,zero1=false,precision=bf16SR");
  const StageMemory m = memory_of(job, s, datasheet()).worst();
  CHECK((m.parameters + m.gradients + m.optimizer).value == 8 * 334'092'288.0);
  CHECK(m.instant == PeakInstant::loss);
  CHECK(m.logits.value == 14.0 * 16 * 128 * 30522);
}

TEST_CASE("the peak is the largest moment, and grows with the micro-batch", "[models][memory]") {
  for (const char* text : {"tp=32,pp=8", "tp=32,pp=8,vpp=2", "tp=32,pp=8,sp=false,recompute=full",
                           "tp=32,pp=8,cp=2", "tp=8,pp=16,flash=false"}) {
    const Job job = job_of("llama3-70b", 16, 8192, 4096);
    double before = 0;
    for (const int micro_batch : {1, 2, 4, 8}) {
      CAPTURE(text, micro_batch);
      Strategy s = strategy_of(job, text);
      s.micro_batch = micro_batch;
      const Memory memory = memory_of(job, s, datasheet());
      for (const StageMemory& m : memory.stages) {
        double largest = 0;
        for (const MemoryMoment& moment : m.moments) largest = std::max(largest, moment.total().value);
        CHECK((m.activations + m.logits + m.staging).value == largest);
        CHECK(m.moments[static_cast<std::size_t>(m.instant)].total().value == largest);
        const Bytes states = m.parameters + m.gradients + m.optimizer;
        CHECK(m.peak() == states + m.activations + m.logits + m.staging + m.runtime);
      }
      const double peak = memory.worst().peak().value;
      CHECK(peak > before);
      before = peak;
    }
  }
}

// The runtime's share is log-normal: the median at half, a standard deviation above it at Phi(1) = 84.13 %.
TEST_CASE("probability of fitting", "[models][memory]") {
  const Job job = job_of("llama3-8b", 1, 8192, 1024);
  Profile profile = datasheet();
  const StageMemory m = memory_of(job, strategy_of(job, "tp=32"), profile).worst();
  const Bytes rest = m.peak() - m.runtime;
  for (const Parameter p :
       {common::fused_activations, common::kept_activations, common::transient_memory, common::fragmentation})
    profile.value(p) = {1, 0, ""};  // as counted
  CHECK(std::abs(probability_of_fitting(m, m.peak(), profile) - 0.5) < 1e-6);
  const Value reserve = profile.value(common::runtime_reserve);
  const Bytes more = rest + Bytes(reserve.median * std::exp(reserve.log_sd));
  CHECK(std::abs(probability_of_fitting(m, more, profile) - 0.8413) < 1e-4);
  CHECK(probability_of_fitting(m, rest, profile) == 0);
  CHECK(probability_of_fitting(m, 0.5 * rest, profile) == 0);
  profile.value(common::runtime_reserve).log_sd = 0;
  CHECK(probability_of_fitting(m, m.peak() + Bytes(1024), profile) == 1);
  CHECK(probability_of_fitting(m, m.peak() - Bytes(1024), profile) == 0);
}

// Three layers cost 4 h^2 + 3 h f = 243e6 each, the head h V = 525e6: of 1,254e6 the first stage reaches its
// half with the third layer. The second has the final norm and the head; its step needs no other buffer than
// the head's gradient in fp32.
TEST_CASE("a stage without layers has none of a layer's weights in its buffers", "[models][memory]") {
  Job job = job_of("llama3-8b", 1, 4096, 64);
  job.architecture.layers = 3;
  job.cluster.instance = test_catalog().instance("p5.48xlarge");
  Strategy s;
  s.framework = "nanotron";
  s.pipeline_parallel = 2;
  s.data_parallel = 4;
  job.architecture.experts = 8;  // with weights, 8 x 4096 x 2 x 14,336, that are larger than the head's
  job.architecture.experts_per_token = 2;
  const Memory memory = memory_of(job, s, test_catalog().profile("h100"));
  REQUIRE(memory.stages[1].layers == 0);
  CHECK(memory.stages[1].moments[2].total().value == Approx(4.0 * 128256 * 4096));
}

// Catches a strategy that is given the weights or layers of one before it, and a strategy that is called too large
// although it fits.
TEST_CASE("memory of one strategy after the other is that of each", "[models][memory]") {
  const Job job = job_of("llama3-8b", 4, 8192, 1024);
  const Profile profile = datasheet();
  StageMemories all(job, profile);
  for (int round = 0; round < 2; ++round) {
    for (const char* text : {"tp=8", "tp=8,pp=2", "tp=8,pp=4,recompute=full", "tp=8,pp=2,vpp=2", "tp=8,mbs=2",
                             "tp=32,pp=2", "tp=32", "tp=8,pp=4,mbs=2,recompute=LlamaMLP"}) {
      CAPTURE(round, text);
      const Strategy s = strategy_of(job, text);
      const Memory each = memory_of(job, s, profile);
      const std::vector<Residency> alive = residencies(job.architecture, s, micro_batches(job.training, s));
      all.choose(s);
      for (const StageMemory& alone : each.stages) {
        const StageMemory m = all.of(alone.stage, alone.layers, alive[static_cast<std::size_t>(alone.stage)]);
        CHECK(m.peak() == alone.peak());
        CHECK(m.parameters == alone.parameters);
        CHECK(m.activations == alone.activations);
      }
      CHECK_FALSE(all.may_fit(Bytes(kGiB)));
      for (int gib = 1; gib < 64; ++gib) {
        if (!all.may_fit(Bytes(gib * kGiB))) CHECK(each.worst().peak() > Bytes(gib * kGiB));
      }
    }
  }
}
