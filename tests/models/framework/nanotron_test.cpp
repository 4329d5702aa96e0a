// nanotron's calls over the replicas, and what each costs the host of a congested cluster.
#include "models/device/gpu_parameters.h"
#include "models/framework/framework.h"
#include "models/framework/loop_parameters.h"
#include "models/memory/memory.h"
#include "models/operators/operators.h"
#include "models/step/step.h"
#include "models/step/step_bound.h"
#include "models/step/step_parts.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// The profile on a cluster whose host takes 1 ms for a collective call and rank.
Profile with_call_per_rank(Profile p) {
  const Parameter share = switched::network_share;
  p.network = MeasuredNetwork{share, p.value(share), 4, 0, Seconds(1e-3)};
  return p;
}

}  // namespace

// Bytes in bf16 of a layer of Llama-3 8B at TP 1, in the order in which gradients are ready: down 14336 x 4096 x 2 =
// 112 MiB, gate and up 224, a norm, o 32, QKV (4096 + 2 x 1024) x 4096 x 2 = 48, a norm. A bucket closes at 25 MiB.
//   TP 1: each product's closes one, and norms wait for the next product: 4 a layer
//   TP 2: 56 | 112 | 16 + 24: 3
//   TP 4: 28 | 56 | 8 + 12, and with 28 of the next layer: 2, and one more after the 32nd layer
//   TP 8: 14 + 28 | 4 + 6 + 14 + 28, so: 1
TEST_CASE("nanotron's buckets are whole tensors without ZeRO-1, and one call with it",
          "[models][framework]") {
  struct Case {
    const char* strategy;
    int buckets;
  };
  const auto c = GENERATE(values<Case>({{"tp=1,zero1=false", 4},
                                        {"tp=2,zero1=false", 3},
                                        {"tp=4,zero1=false", 2},
                                        {"tp=8,zero1=false", 1},
                                        {"tp=8,pp=2,zero1=false", 1}}));
  CAPTURE(c.strategy);
  Job job = job_of("llama3-8b", 8, 8192, 128);
  job.cluster.instance = gpu_machine();
  Strategy s = strategy_of(job, c.strategy);
  s.framework = stated_framework("nanotron");
  const Profile profile = gpu_profile();
  const LayerModel model(job, s, profile);
  const int layers = job.architecture.layers / s.pipeline_parallel;
  const double layer =
      stage_parameters(job.architecture, s, 0, 1) - stage_parameters(job.architecture, s, 0, 0);
  const EndOfStep early = end_of_step(job, s, profile, model, 0, layers);
  CHECK(early.reduce.empty());
  REQUIRE(early.early_layer.size() == 1);
  CHECK(early.early_layer.front().call.repeat == c.buckets);
  CHECK(early.early_layer.front().call.bytes.value == Approx(4 * layer / c.buckets));
  REQUIRE(early.early_embedding.size() == 1);
  CHECK(early.early_embedding.front().call.repeat == 1);

  s.zero1 = true;
  const EndOfStep late = end_of_step(job, s, profile, LayerModel(job, s, profile), 0, layers);
  CHECK(late.early_layer.empty());
  REQUIRE(late.reduce.size() == 1);
  CHECK(late.reduce.front().call.repeat == 1);
  CHECK(late.reduce.front().call.bytes.value == Approx(4 * stage_parameters(job.architecture, s, 0, layers)));
}

// A layer with sequence parallel calls 4 collectives of 8 ranks forward (a gather and a scatter around attention and
// MLP) and 6 backward (the inputs of QKV and of gate and up are gathered again), without it 2 and 2. 1 ms a call
// and rank, 1.04 where the group spans nodes.
TEST_CASE("a congested cluster's host takes time for each call of a layer and rank", "[models][framework]") {
  struct Case {
    const char* strategy;
    double forward, backward;
  };
  const auto c = GENERATE(values<Case>({{"tp=8", 32e-3, 48e-3},
                                        {"tp=4", 16e-3, 24e-3},
                                        {"tp=8,sp=false", 16e-3, 16e-3},
                                        {"tp=1", 0, 0},
                                        {"tp=16", 66.56e-3, 99.84e-3}}));
  CAPTURE(c.strategy);
  Job job = job_of("llama3-8b", 4, 2048, 32);
  job.cluster.instance = gpu_machine();
  Strategy s = strategy_of(job, c.strategy);
  s.framework = stated_framework("nanotron");
  const Profile calm = gpu_profile();
  const Profile slow = with_call_per_rank(calm);
  const auto host = [&](const OperatorList& list) {
    Seconds sum{};
    for (const Operator& o : list) sum += o.host;
    return sum.value;
  };
  const LayerModel with(job, s, slow), without(job, s, calm);
  CHECK(host(with.layer_forward()) - host(without.layer_forward()) == Approx(c.forward));
  CHECK(host(with.layer_backward()) - host(without.layer_backward()) == Approx(c.backward));
}

// 32 replicas over 4 nodes, 1 ms a call and rank and 4 messages of 10 us between nodes. ZeRO-1: one reduction and one
// gather, 64 x 1.04 ms. Else 4 buckets in each of 32 layers, the embedding and the head, 130 calls: 4.3264 s. Nothing
// hides them. Of two stages with 16 replicas the first has 18 layers and the embedding, 73 calls: 1.21472 s.
TEST_CASE("a congested cluster's host takes time for each call of the replicas and rank",
          "[models][framework]") {
  struct Case {
    const char* strategy;
    double seconds;
  };
  const auto c = GENERATE(values<Case>(
      {{"tp=1,zero1=true", 0.06656}, {"tp=1,zero1=false", 4.3264}, {"tp=1,pp=2,zero1=false", 1.21472}}));
  CAPTURE(c.strategy);
  Job job = job_of("llama3-8b", 4, 2048, 32);
  job.cluster.instance = gpu_machine();
  Strategy s = strategy_of(job, c.strategy);
  s.framework = stated_framework("nanotron");
  const Profile calm = gpu_profile();
  const Profile slow = with_call_per_rank(calm);
  const topology::ChipGraph graph(job.cluster.instance);
  const auto step = [&](const Profile& p) { return StepModel(job, s, p, graph).simulate().step.value; };
  const double expected = c.seconds * pace_of(calm, job);
  CHECK(step(slow) - step(calm) == Approx(expected).epsilon(1e-6));
  const auto bound = [&](const Profile& p) {
    return to_seconds(StepBounds(job, p, graph).lower_bound(s, micro_batches(job.training, s))).value;
  };
  CHECK(bound(slow) - bound(calm) == Approx(expected).epsilon(1e-6));
}

// A layer of Llama-3 8B has 6 weights, and its ends have 3: at TP 1 195 pieces for each of 32 replicas, 6240. What the
// gather hides, at least 16 GB through 8 NICs of 25 GB/s, is not waited for. Two stages of 16 replicas: the first has
// 18 layers and the embedding, 109 * 16 = 1744. Catches copies that are free and copies that nothing hides.
TEST_CASE("nanotron's host copies each rank's piece of each gathered weight", "[models][framework]") {
  struct Case {
    const char* strategy;
    double pieces;
  };
  const auto c = GENERATE(
      values<Case>({{"tp=1,zero1=true", 6240}, {"tp=1,zero1=false", 0}, {"tp=1,pp=2,zero1=true", 1744}}));
  CAPTURE(c.strategy);
  Job job = job_of("llama3-8b", 4, 2048, 32);
  job.cluster.instance = gpu_machine();
  Strategy s = strategy_of(job, c.strategy);
  s.framework = stated_framework("nanotron");
  const topology::ChipGraph graph(job.cluster.instance);
  const auto with = [&](double seconds) {
    Profile p = gpu_profile();
    p.value(gpu::host_piece).median = seconds;
    return p;
  };
  const auto step = [&](double seconds) {
    const Profile p = with(seconds);
    return StepModel(job, s, p, graph).simulate().step.value;
  };
  const auto bound = [&](double seconds) {
    const Profile p = with(seconds);
    return to_seconds(StepBounds(job, p, graph).lower_bound(s, micro_batches(job.training, s))).value;
  };
  const double more = 1e-3 * c.pieces * pace_of(gpu_profile(), job);
  CHECK(step(2e-3) - step(1e-3) == Approx(more).epsilon(1e-6));
  CHECK(bound(2e-3) - bound(1e-3) == Approx(more).epsilon(1e-6));
  CHECK(step(1e-6) == step(1e-30));
  if (c.pieces > 0) CHECK(step(1e-3) - step(1e-30) < more);
}

// Messages of 2 stages are meetings of both, one of the hidden states and one of their gradient for each of 8
// micro-batches; the second of 3 stages takes part in twice as many. Hidden states go with a mask, so that hosts look
// at
// 4 messages that announce them, and at 2 for a gradient: 6 x 8 sleeps of 1000 s, and 12 x 8. Catches polls that
// overlap work, or that only one end waits for.
TEST_CASE("a loop that polls what announces a message sleeps in each meeting", "[models][framework]") {
  struct Case {
    const char* strategy;
    int nodes;
    double sleeps;
  };
  const auto c = GENERATE(values<Case>({{"tp=8", 1, 0}, {"tp=8,pp=2", 2, 6 * 8}, {"tp=8,pp=3", 3, 12 * 8}}));
  CAPTURE(c.strategy);
  Job job = job_of("llama3-8b", c.nodes, 2048, 8);
  job.cluster.instance = gpu_machine();
  Strategy s = strategy_of(job, c.strategy);
  const topology::ChipGraph graph(job.cluster.instance);
  Profile profile = gpu_profile();
  CHECK(profile[loop::poll_interval] == 0.1);
  profile.value(loop::poll_interval).median = 1000;
  const auto timed = [&](const char* loop) {
    s.framework = stated_framework(loop);
    return std::pair(
        StepModel(job, s, profile, graph).simulate().step.value,
        to_seconds(StepBounds(job, profile, graph).lower_bound(s, micro_batches(job.training, s))).value);
  };
  const auto [step, bound] = timed("nanotron-polling");
  const auto [plain, plain_bound] = timed("nanotron");
  const double pace = pace_of(profile, job);
  CHECK(step - plain == Approx(1000 * c.sleeps * pace).margin(1));
  CHECK(bound - plain_bound == Approx(1000 * c.sleeps * pace).margin(1));
  CHECK(bound <= step);
}
