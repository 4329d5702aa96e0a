// Frameworks that overlap collectives with work: tensor-parallel ones with products, gathers of weights with
// the first forward pass, messages with both; and the other differences of Megatron's recipes and
// TorchTitan's variants.
#include <string>
#include <vector>

#include "models/device/devices.h"
#include "models/device/gpu_parameters.h"
#include "models/framework/framework.h"
#include "models/memory/memory.h"
#include "models/operators/operators.h"
#include "models/step/rank_trace.h"
#include "models/step/step.h"
#include "models/step/timeline.h"
#include "models/step/trace_size.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Job on_gpus(int nodes, int batch) {
  Job job = job_of("llama3-8b", nodes, 2048, batch);
  job.cluster.instance = gpu_machine();
  job.architecture.layers = 8;
  return job;
}

double tensor_bytes(const OperatorList& list) {
  double sum = 0;
  for (const Operator& o : list) {
    if (o.process_group == ProcessGroup::tensor) sum += o.bytes.value * o.repeat;
  }
  return sum;
}

double step(const Job& job, const std::string& text) {
  return simulate_step(job, strategy_of(job, text), gpu_profile()).step.value;
}

}  // namespace

// Forward: both gathers come before the product that they feed. Both reduce-scatters go in four pieces, three
// of them during the product that makes them. Backward: all of 4 gathers and 2 reduce-scatters overlap a
// product, none in pieces.
TEST_CASE("tensor-parallel collectives overlap the products they feed or follow", "[models][framework]") {
  const Job job = on_gpus(1, 16);
  const Profile profile = gpu_profile();
  const Strategy s = strategy_of(job, "tp=8,framework=megatron-bridge"),
                 other = strategy_of(job, "tp=8,framework=megatron");
  const LayerModel model(job, s, profile), plain(job, other, profile);
  const OperatorList forward = model.layer_forward(), backward = model.layer_backward();
  std::vector<int> repeats;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    if (forward[i].process_group != ProcessGroup::tensor) continue;
    const bool last = forward[i].op == CollectiveOp::reduce_scatter && forward[i].repeat == 1;
    CHECK(forward[i].overlapped == !last);
    if (forward[i].overlapped) CHECK(forward[i + 1].flops.value > 0);
    repeats.push_back(forward[i].repeat);
  }
  CHECK(repeats == std::vector<int>{1, 3, 1, 1, 3, 1});
  int overlapped = 0;
  for (const Operator& o : backward) overlapped += o.overlapped ? 1 : 0;
  CHECK(overlapped == 6);
  CHECK(tensor_bytes(forward) == Approx(tensor_bytes(plain.layer_forward())));
  CHECK(tensor_bytes(backward) == Approx(tensor_bytes(plain.layer_backward())));
  // Between two nodes there is no such buffer.
  const Job two = on_gpus(2, 16);
  for (const Operator& o :
       LayerModel(two, strategy_of(two, "tp=16,kv=2,framework=megatron-bridge"), profile).layer_forward())
    CHECK_FALSE(o.overlapped);
}

// Catches: gathers that hide behind a whole product, and forward reduce-scatters that hide at all. On 8 ranks
// the own piece is an eighth of the product; pieces of two other groups of ranks follow.
TEST_CASE("nanotron gathers during the product of its own piece", "[models][framework]") {
  const Job job = on_gpus(1, 16);
  const Profile profile = gpu_profile();
  const Strategy s = strategy_of(job, "tp=8,framework=nanotron");
  const LayerModel model(job, s, profile);
  const OperatorList forward = model.layer_forward(), backward = model.layer_backward();
  for (std::size_t i = 0; i < forward.size(); ++i) {
    if (forward[i].process_group != ProcessGroup::tensor) continue;
    CHECK(forward[i].overlapped == (forward[i].op == CollectiveOp::all_gather));
    if (!forward[i].overlapped) continue;
    const double whole = forward[i + 1].flops.value + forward[i + 2].flops.value + forward[i + 3].flops.value;
    CHECK(forward[i + 1].flops.value == Approx(whole / 8));
  }
  int overlapped = 0, exposed = 0;
  for (const Operator& o : backward) {
    if (o.process_group == ProcessGroup::tensor) ++(o.overlapped ? overlapped : exposed);
  }
  CHECK(overlapped == 6);
  CHECK(exposed == 0);
  // Between nodes too: the collective has no buffers of its own.
  const Job two = on_gpus(2, 16);
  int between = 0;
  for (const Operator& o :
       LayerModel(two, strategy_of(two, "tp=16,kv=2,framework=nanotron"), profile).layer_forward())
    between += o.overlapped ? 1 : 0;
  CHECK(between == 2);
}

TEST_CASE("no more of a collective is hidden than its product takes", "[models]") {
  const Job job = on_gpus(1, 16);
  Profile slow = gpu_profile();
  const Strategy bridge = strategy_of(job, "tp=8,framework=megatron-bridge");
  const auto seconds = [&](const char* framework, const Profile& p) {
    return simulate_step(job, strategy_of(job, std::string("tp=8,framework=") + framework), p).step.value;
  };
  CHECK(seconds("megatron-bridge", slow) < seconds("megatron", slow));
  // With links a thousand times slower almost all time is collectives; at most the work of the step is
  // hidden.
  double work = 0;
  for (const OperatorList& list :
       {LayerModel(job, bridge, slow).layer_forward(), LayerModel(job, bridge, slow).layer_backward()}) {
    for (const Operator& o : list) work += o.seconds.value;
  }
  slow.value(switched::link_share) = {0.0005, 0.1, "made up"};
  const double hidden = seconds("megatron", slow) - seconds("megatron-bridge", slow);
  CHECK(hidden > 0);
  CHECK(hidden < work * 8 * 16 * 1.5);
}

TEST_CASE("weights gathered during the first forward pass shorten a step by no more than their gathers",
          "[models]") {
  const char* text = GENERATE("tp=8", "tp=2,pp=4", "tp=4,pp=2,vpp=4", "tp=1");
  CAPTURE(text);
  const Job job = on_gpus(2, 64);
  const Strategy s = strategy_of(job, std::string(text) + ",framework=megatron-bridge");
  const topology::ChipGraph graph(job.cluster.instance);
  const StepModel model(job, s, gpu_profile(), graph);
  const StepReport r = model.simulate();
  CHECK(model.simulate({.expand = true}).step == r.step);
  CHECK(model.simulate({.unfolded = true}).step == r.step);
  CHECK(model.simulate({.flat = true}).step == r.step);
  CHECK(model.lower_bound() <= r.step);
  const Timeline t = timeline(model, job, s, gpu_profile());
  CHECK(to_seconds(t.end) == r.step);
  int gathers = 0;
  for (const Timeline::Slice& slice : t.slices) gathers += slice.name == "weights";
  CHECK(gathers >= job.architecture.layers);
  // Every rank's trace contains its own layers' gathers once.
  const RankTracer tracer(model);
  std::int64_t nodes = 0;
  int traced = 0;
  for (int rank = 0; rank < tracer.ranks(); ++rank) {
    const RankTrace trace = tracer.trace(rank);
    nodes += static_cast<std::int64_t>(trace.nodes.size());
    for (const RankTrace::Node& n : trace.nodes) traced += n.name == "weights";
  }
  CHECK(traced >= job.architecture.layers * tracer.ranks() / s.pipeline_parallel);
  const TraceSize size = rank_trace_size(model);
  CHECK(nodes <= size.fixed + size.per_micro_batch * (64 / s.data_parallel));
}

// The first forward passes differ from the later ones; the later ones are counted in rounds.
TEST_CASE("a step whose first pass gathers weights is counted in rounds", "[models]") {
  const char* text = GENERATE("tp=2,pp=4", "tp=4,pp=2,vpp=2");
  CAPTURE(text);
  const Job job = on_gpus(1, 600);
  const StepModel model(job, strategy_of(job, std::string(text) + ",framework=megatron-bridge"),
                        gpu_profile(), topology::ChipGraph(job.cluster.instance));
  const StepReport folded = model.simulate();
  CHECK(folded.step == model.simulate({.unfolded = true}).step);
  CHECK(folded.folded);
}

TEST_CASE("interleaved messages of Megatron's recipes occupy no queue", "[models]") {
  const Framework& f = framework_of(strategy_of(on_gpus(1, 16), "framework=megatron-bridge"));
  Strategy s;
  s.pipeline_parallel = 4;
  CHECK(f.sends_block(s));
  CHECK_FALSE(f.sends_beside_work(s));
  s.virtual_pipeline = 2;
  CHECK(f.sends_beside_work(s));
}

// Weights that were cast before cost no cast: 3 bytes per element and a kernel less.
TEST_CASE("weights in FP8 are cast once a step or by each product", "[models][gpu]") {
  const topology::Core core = gpu_machine().core;
  const Profile profile = gpu_profile();
  const DeviceContext on{core, profile};
  const Device& device = device_of(core);
  const double k = 4096, m = 14336;
  const Work each = device.matmul(on, {8192, k, m, true}), once = device.matmul(on, {8192, k, m, true, true});
  const double cast = 3 * k * m / (core.hbm.value * profile[gpu::bandwidth_share]);
  CHECK((each.seconds - once.seconds).value == Approx(cast + profile[gpu::kernel_start]).epsilon(1e-9));
  Strategy s;
  s.precision = Precision::fp8;
  s.framework = stated_framework("megatron-bridge");
  const StateBytes fp8 = framework_of(s).state_bytes(s);
  s.precision = Precision::fp8_param_gather;
  const StateBytes alone = framework_of(s).state_bytes(s);
  s.precision = Precision::mixed_precision;
  const StateBytes bf16 = framework_of(s).state_bytes(s);
  CHECK(fp8.parameter - bf16.parameter == 2);
  CHECK(fp8.update - bf16.update == 6);
  // Stored in FP8 alone, as they are and transposed.
  CHECK(alone.parameter == bf16.parameter);
  CHECK(alone.update == fp8.update);
}

// 126 layers, the embedding and the head are 128 parts: two on each of 64.
TEST_CASE("Megatron's recipes count the ends of the model where layers do not divide",
          "[models][framework]") {
  const Framework& f = framework_of(strategy_of(on_gpus(1, 16), "framework=megatron-bridge"));
  Architecture a;
  a.layers = 126;
  std::vector<int> parts(64, 2);
  parts.front() = parts.back() = 1;
  CHECK(f.partition(a, 64) == parts);
  a.layers = 127;
  // As in Megatron's own: two between, 127 - 62 x 2 = 3 at the ends.
  CHECK(f.partition(a, 64).front() == 2);
  CHECK(f.partition(a, 64).back() == 1);
}

TEST_CASE("Megatron's own sharding gathers and reduces units in bf16", "[models][fsdp]") {
  const Job job = on_gpus(1, 16);
  const Strategy s = strategy_of(job, "framework=megatron-fsdp");
  const auto unit = framework_of(s).units(s);
  REQUIRE(unit);
  CHECK(unit->gathered == 2);
  CHECK(unit->reduced == 2);
  CHECK(unit->again);
  CHECK_FALSE(framework_of(s).drops_unread());
}

TEST_CASE("asynchronous tensor parallel hides collectives, no compiler costs traffic", "[models][fsdp]") {
  Job job = on_gpus(1, 16);
  job.training.sequence = 8192;  // messages long enough that pieces of them do not wait for their starts
  CHECK(step(job, "tp=8,framework=fsdp-async-tp") < step(job, "tp=8,framework=fsdp"));
  CHECK(step(job, "tp=1,framework=fsdp-async-tp") == step(job, "tp=1,framework=fsdp"));
  CHECK(step(job, "tp=1,framework=fsdp-eager") > step(job, "tp=1,framework=fsdp"));
}

TEST_CASE("of every second layer recomputed a step takes half of what all of them cost", "[models][fsdp]") {
  const Job job = on_gpus(1, 16);
  const auto with = [&](const char* recompute) {
    return step(job, std::string("framework=fsdp,shard=none,recompute=") + recompute);
  };
  const double none = with("none"), all = with("full"), half = with("full/2");
  CHECK(half - none == Approx((all - none) / 2).epsilon(0.01));
  const Profile profile = gpu_profile();
  const auto kept = [&](const char* recompute) {
    const Strategy s = strategy_of(job, std::string("framework=fsdp,recompute=") + recompute);
    return memory_of(job, s, profile).stages.front().per_layer.value;
  };
  CHECK(kept("full/2") == Approx((kept("none") + kept("full")) / 2));
  CHECK(to_string(*recompute_from("full/3")) == "full/3");
  for (const char* bad : {"full/", "full/1", "full/x", "full/2x", "full/-2"})
    CHECK_FALSE(recompute_from(bad));
  CHECK(
      StepModel::not_modelled(job, strategy_of(job, "framework=megatron,recompute=full/2")).find("layers") !=
      std::string::npos);
}
