// Weights that are gathered unit by unit: bytes, exposed parts of gathers and reductions, memory, and
// equality of steps counted in rounds with those run whole.
#include <algorithm>
#include <string>
#include <vector>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/framework/framework.h"
#include "models/memory/memory.h"
#include "models/operators/operators.h"
#include "models/step/stage_costs.h"
#include "models/step/step.h"
#include "models/step/step_bound.h"
#include "models/step/step_items.h"
#include "models/step/step_layout.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"
#include "text/diagnostic.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Job on_gpus(int nodes, int layers, int sequence, int batch) {
  Job job = job_of("llama3-8b", nodes, sequence, batch);
  job.cluster.instance = gpu_machine();
  job.architecture.layers = layers;
  return job;
}

/// Bytes of the collectives of a kind in a list.
double bytes(const OperatorList& list, CollectiveOp op) {
  double sum = 0;
  for (const Operator& o : list) {
    if (o.category == Category::data_parallel && o.op == op) sum += o.bytes.value;
  }
  return sum;
}

StepReport step_of(const Job& job, const std::string& text) {
  return StepModel(job, strategy_of(job, text), gpu_profile(), topology::ChipGraph(job.cluster.instance))
      .simulate();
}

}  // namespace

// A layer of Llama-3 8B has 4096 (2 4096 + 2 1024) + 3 4096 14336 + 2 4096 = 218,112,000 weights, the root two
// tables of 128256 x 4096 and the final norm's 4096: 1,050,677,248. A gather moves 2 bytes of each, a reduction 4.
TEST_CASE("bytes of a unit's gather and reduction", "[models][fsdp]") {
  constexpr double kLayer = 218112000, kRoot = 1050677248;
  const Job job = on_gpus(1, 4, 2048, 8);
  const Profile profile = gpu_profile();
  const Strategy s = strategy_of(job, "framework=fsdp");
  const LayerModel full(job, s, profile);
  CHECK(bytes(full.embedding_forward(), CollectiveOp::all_gather) == 2 * (kRoot + kLayer));
  CHECK(bytes(full.layer_forward(LayerTurn::inner), CollectiveOp::all_gather) == 2 * kLayer);
  CHECK(bytes(full.layer_forward(LayerTurn::last), CollectiveOp::all_gather) == 0);
  CHECK(bytes(full.head_backward(), CollectiveOp::all_gather) == 0);  // the last layer's weights were kept
  CHECK(bytes(full.layer_backward(LayerTurn::first), CollectiveOp::all_gather) == 2 * kLayer);
  CHECK(bytes(full.layer_backward(LayerTurn::first), CollectiveOp::reduce_scatter) == 0);
  CHECK(bytes(full.layer_backward(LayerTurn::last), CollectiveOp::all_gather) == 0);
  CHECK(bytes(full.layer_backward(LayerTurn::last), CollectiveOp::reduce_scatter) == 4 * kLayer);
  CHECK(bytes(full.embedding_backward(), CollectiveOp::reduce_scatter) == 4 * (kRoot + kLayer));

  const Strategy first = strategy_of(job, "framework=fsdp1");
  CHECK(bytes(LayerModel(job, first, profile).head_backward(), CollectiveOp::all_gather) == 2 * kLayer);
  const Strategy narrow = strategy_of(job, "framework=fsdp1-compiled");
  CHECK(bytes(LayerModel(job, narrow, profile).layer_backward(LayerTurn::last),
              CollectiveOp::reduce_scatter) == 2 * kLayer);
  const Strategy kept = strategy_of(job, "framework=fsdp,shard=zero2");
  CHECK(bytes(LayerModel(job, kept, profile).layer_backward(LayerTurn::inner), CollectiveOp::all_gather) ==
        0);
  const Job two = on_gpus(2, 4, 2048, 16);
  const Strategy groups = strategy_of(two, "framework=fsdp,shard_degree=8");
  CHECK(bytes(LayerModel(two, groups, profile).layer_backward(LayerTurn::last), CollectiveOp::all_reduce) ==
        4 * kLayer / 8);
  // A pipeline's stages gather and reduce once a step.
  const Strategy pipeline = strategy_of(two, "framework=fsdp,pp=2");
  CHECK(bytes(LayerModel(two, pipeline, profile).layer_forward(LayerTurn::inner), CollectiveOp::all_gather) ==
        0);
  CHECK(framework_of(pipeline).weights(pipeline));
}

// Two layers. The root's gather is exposed, the first layer's overlaps the embedding, the second's the first
// layer. In the backward pass the first layer's gather overlaps the second layer. The second layer's
// reduction overlaps the first layer, and the first layer's the embedding; the root's is exposed. A transfer
// of t, of which l are its start and the latency of its seven steps, overlaps work of c that it slows by f;
// both end after max(t, c + (t - l) (1 - 1 / f)).
TEST_CASE("what is exposed of two layers, by hand", "[models][fsdp]") {
  const Job job = on_gpus(1, 2, GENERATE(1024, 8192), 8);
  const Profile profile = gpu_profile();
  const Strategy s = strategy_of(job, "framework=fsdp");
  const topology::ChipGraph graph(job.cluster.instance);
  const StepLayout layout(job, s, profile, graph);
  const StageGroups groups = layout.representative(0);
  REQUIRE(groups.shard.size() == 1);
  const auto time = [&](CollectiveOp op, double of) {
    return to_seconds(uncontended(layout.fabric, collective(layout.fabric, op, groups.shard, Bytes(of)), 1))
        .value;
  };
  // Simple's start, 8 us and what simple_start adds, and its steps of 1 us times chunk_step: of both alike.
  const double latency = profile[switched::collective_start] + profile[switched::simple_start] +
                         7 * profile[switched::step_latency] * profile[switched::chunk_step];
  const auto overlapped = [&](double c, double t) {
    const double f = profile[common::overlap_slowdown];
    return std::max(t, c + (t - latency) * (1 - 1 / f));
  };
  const LayerModel m(job, s, profile);
  const auto alone = [](const OperatorList& list) { return to_seconds(work(list)).value; };
  constexpr double kLayer = 218112000, kRoot = 1050677248;
  const double gather = time(CollectiveOp::all_gather, 2 * kLayer),
               reduce = time(CollectiveOp::reduce_scatter, 4 * kLayer), up = alone(m.layer_forward()),
               down = alone(m.layer_backward());
  const double forward = time(CollectiveOp::all_gather, 2 * kRoot) +
                         overlapped(alone(m.embedding_forward()), gather) + overlapped(up, gather) + up +
                         alone(m.head_forward());
  const double backward = alone(m.head_backward()) + overlapped(down, gather) + overlapped(down, reduce) +
                          overlapped(alone(m.embedding_backward()), reduce) +
                          time(CollectiveOp::reduce_scatter, 4 * kRoot) +
                          alone(m.accumulate(local_parameters(job.architecture, s, 0)));
  const double end = 2 * profile[switched::collective_start] +
                     alone(m.optimizer(local_parameters(job.architecture, s, 0), 8)) +
                     profile[common::step_overhead];
  const StepReport r = StepModel(job, s, profile, graph).simulate();
  CHECK(r.step.value == Approx(profile[loop::graph_launch] + forward + backward + end).epsilon(1e-9));
}

TEST_CASE("less is exchanged where weights are kept", "[models][fsdp]") {
  const Job job = on_gpus(4, 8, 2048, 64);
  // FSDP1 drops the last layer's weights too, but has another loss: within the framework.
  for (const std::string framework : {"framework=fsdp", "framework=fsdp1"})
    CHECK(step_of(job, framework + ",shard=zero2").step < step_of(job, framework).step);
}

// Per rank of n: fp32 weights, gradients and two moments over n; of two units in flight 2 bytes each.
TEST_CASE("states are sharded over the ranks that share a copy", "[models][fsdp]") {
  const Job job = on_gpus(2, 8, 2048, 16);
  const auto memory = [&](const char* text) {
    return memory_of(job, strategy_of(job, text), gpu_profile()).worst();
  };
  const double n = local_parameters(job.architecture, strategy_of(job, "framework=fsdp"), 0);
  const StageMemory all = memory("framework=fsdp"), eight = memory("framework=fsdp,shard_degree=8"),
                    kept = memory("framework=fsdp,shard=zero2");
  CHECK(all.parameters.value == Approx(4 * n / 16).epsilon(1e-3));
  CHECK(all.gradients.value == Approx(4 * n / 16).epsilon(1e-3));
  CHECK(all.optimizer.value == Approx(8 * n / 16).epsilon(1e-3));
  CHECK(eight.optimizer.value == Approx(8 * n / 8).epsilon(1e-3));
  CHECK(kept.parameters.value == Approx(2 * n + 4 * n / 16).epsilon(1e-3));
  CHECK(all.staging > kept.staging);
  CHECK(memory("framework=fsdp1").staging > all.staging);
}

// Of Llama-3 8B's 13 x 4096^2 + ... products k (4096 x 1024), output (4096 x 4096) and up (4096 x 14336) run again:
// 2 operations a token and weight. Kept: the layer's input and the down output, 2 x 4096 values of 2 bytes, q and the
// context, 2 x 4096, v, 1024, and the gate, 14336.
TEST_CASE("TorchTitan's selective recomputation", "[models][fsdp]") {
  const Job job = on_gpus(1, 8, 2048, 8);
  const Profile profile = gpu_profile();
  const auto flops = [&](const char* text) {
    const Strategy s = strategy_of(job, text);
    double sum = 0;
    for (const Operator& o : LayerModel(job, s, profile).layer_backward()) sum += o.flops.value;
    return sum;
  };
  CHECK(flops("framework=fsdp,recompute=SelectiveOp") - flops("framework=fsdp") ==
        Approx(2.0 * 2048 * 4096 * (1024 + 4096 + 14336)));
  const Memory memory =
      memory_of(job, strategy_of(job, "framework=fsdp,recompute=SelectiveOp"), gpu_profile());
  CHECK(memory.worst().per_layer.value == 2.0 * 2048 * (4 * 4096 + 1024 + 14336));
  CHECK_FALSE(StepModel::not_modelled(job, strategy_of(job, "recompute=SelectiveOp")).empty());
}

// A layer kept whole: 2 bytes of both norms' inputs and outputs, q and what attention makes of it (6 x 4096 together),
// k and v (2 x 1024), gate, up and their product (3 x 14336). Of one that is recomputed its input, 4096. Of one with
// SelectiveOp its input, the down output, q and the context (4 x 4096), v and the gate. While one that is recomputed
// whole is made anew, all of it comes besides.
TEST_CASE("activations are those of layers kept whole and the inputs of those recomputed", "[models][fsdp]") {
  constexpr double kTokens = 2048, kLayers = 8;
  constexpr double kWhole = 2 * (6 * 4096 + 2 * 1024 + 3 * 14336), kInput = 2 * 4096;
  constexpr double kEverySecondProduct = 2 * (4 * 4096 + 1024 + 14336);
  const Job job = on_gpus(1, static_cast<int>(kLayers), static_cast<int>(kTokens), 8);
  const auto backward = [&](const std::string& recompute) {
    const Strategy s = strategy_of(job, "framework=fsdp,recompute=" + recompute);
    return memory_of(job, s, gpu_profile()).worst().moments[static_cast<std::size_t>(PeakInstant::backward)];
  };
  const auto kept = [&](const std::string& recompute) {
    return backward(recompute).activations.value / kTokens;
  };
  CHECK(kept("none") == kLayers * kWhole);
  CHECK(kept("full") == kLayers * kInput);
  CHECK(kept("full/2") == kLayers / 2 * (kWhole + kInput));
  CHECK(kept("full/4") == kLayers / 4 * (3 * kWhole + kInput));
  CHECK(kept("SelectiveOp") == kLayers * kEverySecondProduct);
  CHECK(backward("full/2").staging == backward("full").staging);
  CHECK((backward("full/2").staging - backward("none").staging).value == kTokens * kWhole);
}

// torchtitan/distributed/activation_checkpoint.py; Composer wraps blocks, Megatron names modules.
TEST_CASE("what TorchTitan recomputes others do not", "[models][fsdp]") {
  const Job job = on_gpus(1, 8, 2048, 8);
  const auto has = [&](const char* framework, const char* recompute) {
    return StepModel::not_modelled(
               job, strategy_of(job, std::string("framework=") + framework + ",recompute=" + recompute))
        .empty();
  };
  for (const char* recompute : {"SelectiveOp", "full/2"}) {
    for (const char* torchtitan : {"fsdp", "fsdp-async-tp", "fsdp-eager"}) CHECK(has(torchtitan, recompute));
    for (const char* other : {"fsdp1", "megatron-fsdp", "megatron", "nanotron"})
      CHECK_FALSE(has(other, recompute));
  }
  // It keeps attention, so a program has one name.
  Strategy s;
  s.recompute = *recompute_from("CoreAttention+SelectiveOp");
  CHECK(to_string(canonical(s).recompute) == "SelectiveOp");
}

TEST_CASE("what a framework cannot shard is refused", "[models][fsdp]") {
  const Job job = on_gpus(2, 8, 2048, 16);
  CHECK_THROWS_AS(strategy_of(job, "shard=zero3"), InputError);
  CHECK_THROWS_AS(strategy_of(job, "framework=nanotron,shard_degree=8"), InputError);
  CHECK(strategy_of(job, "framework=megatron,shard_degree=8").shard_ranks == 8);
  CHECK_THROWS_AS(strategy_of(job, "framework=fsdp,shard_degree=3"), InputError);
  CHECK_THROWS_AS(strategy_of(job, "framework=fsdp,pp=2,shard_degree=4"), InputError);
  CHECK(strategy_of(job, "framework=fsdp,shard_degree=16").shard_ranks == 0);
}

TEST_CASE("sharded steps: rounds counted and every micro-batch run agree to the tick, bounds hold",
          "[models][fsdp][property]") {
  int folded = 0, jobs = 0;
  for (const unsigned seed : seeds(1, 440)) {
    boost::random::mt19937 random(seed);
    const auto pick = [&](std::vector<int> from) {
      return from[boost::random::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
    };
    const int nodes = pick({1, 2, 4}), tensor = pick({1, 2, 8}), pipeline = pick({1, 1, 1, 2}),
              context = pick({1, 1, 2});
    const int ranks = 8 * nodes / tensor / pipeline;
    if (8 * nodes % (tensor * pipeline) != 0 || ranks % context != 0) continue;
    const int data = ranks / context;
    const Job job = on_gpus(nodes, pick({1, 2, 3, 8}), pick({1024, 4096}), data * pick({1, 3, 30, 60}));
    std::string text = "framework=" + std::string(pick({0, 1}) == 1 ? "fsdp" : "fsdp1");
    text += ",tp=" + std::to_string(tensor) + ",pp=" + std::to_string(pipeline) +
            ",cp=" + std::to_string(context);
    text += std::string(",shard=") + (pick({0, 1}) == 1 ? "zero2" : "zero3");
    if (pipeline == 1 && ranks >= 4 && pick({0, 1}) == 1)
      text += ",shard_degree=" + std::to_string(ranks / 2);
    if (pick({0, 1}) == 1) text += ",recompute=full";
    if (job.architecture.layers < pipeline) continue;
    ++jobs;
    CAPTURE(seed, text, nodes, job.architecture.layers, job.training.global_batch);
    const Strategy s = strategy_of(job, text);
    const topology::ChipGraph graph(job.cluster.instance);
    const Profile profile = gpu_profile();
    const StepModel model(job, s, profile, graph);
    const StepReport every = model.simulate({.unfolded = true}), counted = model.simulate();
    CHECK(counted.step.value == every.step.value);
    CHECK(counted.breakdown == every.breakdown);
    CHECK(counted.by_operator == every.by_operator);
    CHECK(counted.tasks == every.tasks);
    folded += counted.folded ? 1 : 0;
    CHECK(to_seconds(StepBounds(job, profile, graph).lower_bound(s, micro_batches(job.training, s))) <=
          every.step);
    CHECK(model.lower_bound() <= every.step);
  }
  CHECK(jobs >= at_least(150));
  CHECK(folded >= at_least(15));
}
