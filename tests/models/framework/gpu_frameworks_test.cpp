// Differences between the training loops of GPUs and NxD's.
#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective/switched_parameters.h"
#include "models/device/devices.h"
#include "models/device/gpu_parameters.h"
#include "models/framework/framework.h"
#include "models/framework/partition.h"
#include "models/memory/fit_probability.h"
#include "models/memory/memory.h"
#include "models/operators/operators.h"
#include "models/parameters/allocator_parameters.h"
#include "models/parameters/common_parameters.h"
#include "models/step/step.h"
#include "models/step/step_bound.h"
#include "models/step/step_parts.h"
#include "tests/catch.h"
#include "tests/faults.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

const Framework& framework(std::string_view name) {
  Strategy s;
  s.framework = stated_framework(name);
  return framework_of(s);
}

Architecture of(int layers, int hidden, int intermediate, int vocabulary) {
  Architecture a;
  a.layers = layers;
  a.hidden = hidden;
  a.intermediate = intermediate;
  a.vocabulary = vocabulary;
  return a;
}

int count(const OperatorList& list, std::string_view name) {
  int n = 0;
  for (const Operator& o : list) n += o.name == name ? 1 : 0;
  return n;
}

}  // namespace

// Mixtures on GPUs were once costed with the 2 of NxD's configs.
TEST_CASE("experts have as many places as their training loop gives them", "[models][framework]") {
  const std::pair<const char*, double> rows[] = {
      {"nxd", 2},  {"overlapped", 2},    {"megatron", 0}, {"megatron-bridge", 0}, {"megatron-fsdp", 0},
      {"fsdp", 0}, {"fsdp-async-tp", 0}, {"fsdp1", 0},    {"nanotron", 0},        {"megatron-deepspeed", 1}};
  for (const auto& [name, factor] : rows) {
    INFO(name);
    Architecture a;
    Strategy s;
    s.framework = stated_framework(name);
    CHECK(capacity_factor(a, s) == factor);
    a.capacity_factor = 1.5;
    CHECK(capacity_factor(a, s) == 1.5);
    a.capacity_factor = 0;  // stated: as many places as tokens come
    CHECK(capacity_factor(a, s) == 0);
  }
}

// 30 layers with embedding and loss counted as one each fill the 32 chunks of PP 4 x VPP 8: the first and the last have
// no layer. The search's bound is that of the step, and the step takes longer.
// Catches: such a pipeline refused, or a chunk without layers that costs one.
TEST_CASE("embedding and head may be chunks of their own", "[models][framework]") {
  Job job = job_of("llama3-8b", 1, 2048, 64);
  job.architecture.layers = 30;
  job.cluster.instance = gpu_machine();
  job.cluster.instance.traits.step_time = true;
  const Strategy s = strategy_of(job, "tp=1,pp=4,vpp=8,mbs=1,framework=megatron-bridge");
  const std::vector<int> chunks = layers_per_chunk(job.architecture, s);
  CHECK(chunks.front() == 0);
  CHECK(chunks.back() == 0);
  CHECK(std::all_of(chunks.begin() + 1, chunks.end() - 1, [](int n) { return n == 1; }));
  const Profile profile = gpu_profile();
  const topology::ChipGraph graph(job.cluster.instance);
  const StepModel model(job, s, profile, graph);
  const double bound = model.lower_bound().value;
  CHECK(to_seconds(StepBounds(job, profile, graph).lower_bound(s, 8 * 4)).value ==
        Approx(bound).epsilon(1e-8));
  CHECK(model.simulate().step.value >= bound);
}

// Exchanges are hidden where links are fast; where they are slow they hide work. What collectives slow is slowed in
// both loops, so no more than the exchanges is saved. One micro-batch has no other to overlap.
// Catches: exchanges that are still exposed, or hidden where they take longer than the work or there is none.
TEST_CASE("exchanges with experts overlap the work of another micro-batch", "[models][framework]") {
  Job job = job_of("mixtral-8x7b", 1, 4096, 64);
  job.cluster.instance = gpu_machine();
  job.cluster.instance.traits.step_time = true;
  const topology::ChipGraph graph(job.cluster.instance);
  const auto report = [&](const std::string& text, double links, double slowdown) {
    Profile profile = gpu_profile();
    profile.value(common::overlap_slowdown).median = slowdown;
    profile.value(switched::link_share).median *= links;
    return StepModel(job, strategy_of(job, text), profile, graph).simulate();
  };
  const auto exchanged = [](const StepReport& r) {
    return r.breakdown[static_cast<std::size_t>(Category::expert_parallel)].value;
  };
  const std::string layout = "ep=8,mbs=1,framework=megatron";
  const StepReport apart = report(layout, 1, 1), hidden = report(layout + "-ep-overlap", 1, 1);
  CHECK(exchanged(apart) > 0);
  CHECK(exchanged(hidden) == 0);
  CHECK(hidden.step.value == Approx(apart.step.value - exchanged(apart)).epsilon(1e-3));
  const StepReport slow = report(layout, 0.001, 1), slow_hidden = report(layout + "-ep-overlap", 0.001, 1);
  CHECK(slow_hidden.step.value > exchanged(slow));
  CHECK(slow_hidden.step.value < slow.step.value);
  const double saved = report(layout, 1, 1.3).step.value - report(layout + "-ep-overlap", 1, 1.3).step.value;
  CHECK(saved > 0);
  CHECK(saved <= exchanged(apart));
  const std::string piped = "pp=2,vpp=2,ep=4,mbs=1,framework=megatron";
  CHECK(report(piped, 1, 1.3).step > report(piped + "-ep-overlap", 1, 1.3).step);
  job.training.global_batch = 8;
  CHECK(report(layout, 1, 1.3).step == report(layout + "-ep-overlap", 1, 1.3).step);
}

// 4 experts, 2 of them for each of n tokens. EP 2: two experts are missed by 2/4 x 1/3 of the tokens, so that 5/6 go
// to a rank: 2 x 5/6 n rows instead of 2 n. EP 4 on two nodes of two ranks: 5/6 n go to the other node, by either
// rank of it half of them, so that 4 ranks x 5/12 n are the rows of an exchange of equal parts; an expert is missed
// by 3/4 x 2/3, so that 4 x 1/2 n arrive. Catches: a token that crosses once for each of its experts, as with the
// other dispatcher.
TEST_CASE("the flex dispatcher sends a token once to a rank, and between nodes once to a node",
          "[models][framework]") {
  Job job = job_of("mixtral-8x7b", 2, 4096, 16);
  job.cluster.instance = gpu_machine();
  job.architecture.experts = 4;
  job.architecture.experts_per_token = 2;
  const Profile profile = gpu_profile();
  const auto rows = [&](const std::string& loop, const std::string& degrees) {
    const Strategy s = strategy_of(job, degrees + ",pp=1,mbs=1,framework=" + loop);
    const OperatorList list = LayerModel(job, s, profile).layer_forward();
    const auto sent = std::find_if(list.begin(), list.end(), [](const Operator& o) { return o.counted; });
    const auto bytes = [](const Operator& o) { return o.bytes.value; };
    const auto most = std::max_element(list.begin(), list.end(), [&](const Operator& a, const Operator& b) {
      return (a.op == CollectiveOp::all_to_all ? bytes(a) : 0) <
             (b.op == CollectiveOp::all_to_all ? bytes(b) : 0);
    });
    REQUIRE(sent != list.end());
    return std::tuple(bytes(*most) / (2.0 * job.architecture.hidden * 4096), count(list, "tokens by expert"),
                      std::string(sent->name));
  };
  using Rows = std::tuple<double, int, std::string>;
  CHECK(rows("megatron", "tp=1,ep=2") == Rows{2, 1, "tokens by expert"});
  CHECK(std::get<0>(rows("megatron-flex", "tp=1,ep=2")) == Approx(5.0 / 3));
  CHECK(std::get<1>(rows("megatron-flex", "tp=1,ep=2")) == 0);
  CHECK(std::get<2>(rows("megatron-flex", "tp=1,ep=2")) == "router");
  CHECK(std::get<0>(rows("megatron-bridge-flex", "tp=4,ep=4,etp=4")) == Approx(5.0 / 3));
  CHECK(std::get<0>(rows("megatron", "tp=4,ep=4")) == Approx(2));
  // Nothing is exchanged: as the other dispatcher.
  CHECK(rows("megatron-flex", "tp=1,ep=1") == rows("megatron", "tp=1,ep=1"));
}

// Mixtral's 8 experts, one on a rank of EP 8: 4 times as many replicas have a quarter of its states each. Catches:
// shards of whole experts, as XLA's are of rows, in a loop that cuts a flat buffer.
TEST_CASE("states of experts shrink with their replicas", "[models][memory]") {
  const auto optimizer = [](int nodes) {
    Job job = job_of("mixtral-8x7b", nodes, 4096, 512);
    job.cluster.instance = gpu_machine();
    const Strategy s = strategy_of(job, "tp=1,pp=1,ep=8,mbs=1,framework=megatron");
    return memory_of(job, s, gpu_profile()).stages.front().optimizer.value;
  };
  CHECK(optimizer(8) == Approx(optimizer(2) / 4));
}

// 70 blocks on 12 stages: with the embedding and the head 72 parts, 6 on each. 72 blocks: 6 on each.
TEST_CASE("Megatron-DeepSpeed counts the ends of the model where blocks do not divide",
          "[models][framework]") {
  const Framework& f = framework("megatron-deepspeed");
  const std::vector<int> seventy = f.partition(of(70, 14336, 57344, 250880), 12);
  CHECK(seventy.front() == 5);
  CHECK(seventy.back() == 5);
  CHECK(seventy[5] == 6);
  CHECK(std::accumulate(seventy.begin(), seventy.end(), 0) == 70);
  CHECK(f.partition(of(72, 14336, 57344, 250880), 12) == std::vector<int>(12, 6));
}

// Catches: one count for both precisions. BF16 with ZeRO-1: weights 2, the fp32 sum 4 and the last pass's gradients 2
// on every rank, and 2 for the copy that is reduced; FP16 weights 2 and gradients 2, and 4 for a shard's in fp32.
TEST_CASE("DeepSpeed adds gradients up in fp32 in BF16 and in their own type in FP16", "[models][memory]") {
  Job job = job_of("llama3-8b", 1, 2048, 8);
  job.cluster.instance = gpu_machine();
  const Profile profile = gpu_profile();
  const auto of = [&](const std::string& loop, const char* shard) {
    const Strategy s =
        strategy_of(job, std::string("tp=2,pp=1,mbs=1,flash=false,shard=") + shard + ",framework=" + loop);
    return std::pair(memory_of(job, s, profile).stages.front(), local_parameters(job.architecture, s, 0));
  };
  const auto [bf16, n] = of("megatron-deepspeed", "zero1");
  const auto [fp16, m] = of("megatron-deepspeed-fp16", "zero1");
  CHECK(bf16.parameters.value == 2 * n);
  CHECK(bf16.gradients.value == 6 * n);
  CHECK(fp16.parameters.value == 2 * m);
  CHECK(fp16.gradients.value == 2 * m);
  CHECK(bf16.optimizer.value == fp16.optimizer.value);
  // The copy is larger than the buffer of the new weights, 1 GB.
  CHECK(bf16.moments[2].staging.value == 2 * n);
  CHECK(fp16.moments[2].staging.value == Approx(4 * n / 4 + 1e9).epsilon(1e-6));
  const auto [plain, k] = of("megatron-deepspeed", "none");
  CHECK(plain.gradients.value == 2 * k);
  CHECK(of("megatron-deepspeed-fp16", "none").first.peak().value == plain.peak().value);
}

// Hidden 2048, MLP 8192: a layer costs 4 * 2048^2 + 3 * 2048 * 8192 = 67.1e6, the head of 131072 words
// 268.4e6: as much as four layers. 16 layers and the head are 20 such units: on two stages the first ends
// after 10, on four after 5, 10 and 15. 126 layers on 16 stages: 8 between, 126 - 14 x 8 = 14 at the ends. 81
// on 2: 41 and 40. 80 on 64: 2 between would leave -44, so 1, and 18 at the ends.
TEST_CASE("Megatron gives the ends of a pipeline what does not divide", "[models][framework]") {
  const auto cut = [](int layers, int stages) {
    return framework("megatron").partition(of(layers, 16384, 53248, 128256), stages);
  };
  std::vector<int> wanted(16, 8);
  wanted.front() = wanted.back() = 7;
  CHECK(cut(126, 16) == wanted);
  CHECK(cut(81, 2) == std::vector<int>{41, 40});
  CHECK(cut(80, 64).front() == 9);
  CHECK(cut(80, 64).back() == 9);
  CHECK(cut(80, 8) == std::vector<int>(8, 10));
  CHECK(cut(5, 1) == std::vector<int>{5});
  for (int layers = 4; layers < 40; ++layers) {
    for (int stages = 2; stages <= layers; ++stages) {
      const std::vector<int> parts = cut(layers, stages);
      CHECK(std::accumulate(parts.begin(), parts.end(), 0) == layers);
      CHECK(*std::min_element(parts.begin(), parts.end()) >= 1);
    }
  }
}

// Catches: chunks that Megatron's assertions refuse, given to a step as if they ran.
TEST_CASE("Megatron forms equal chunks, but for the ends", "[models][framework]") {
  const auto cut = [](const char* name, int layers, int stages, int chunks) {
    return framework(name).chunk_partition(of(layers, 16384, 53248, 128256), stages, chunks);
  };
  CHECK(cut("megatron", 32, 4, 2) == std::vector<int>(8, 4));
  CHECK(cut("megatron", 31, 4, 2) == std::vector<int>{4, 4, 4, 4, 4, 4, 4, 3});
  CHECK(cut("megatron", 30, 4, 2) == std::vector<int>{3, 4, 4, 4, 4, 4, 4, 3});
  CHECK(cut("megatron", 28, 4, 2) == std::vector<int>{3, 4, 4, 3, 3, 4, 4, 3});  // stages of 6, 8, 8, 6
  CHECK(cut("megatron", 29, 4, 2).empty());
  CHECK(cut("megatron", 94, 8, 4) == cut("megatron-bridge", 94, 8, 4));
  CHECK(cut("fsdp", 29, 4, 2) == framework("fsdp").partition(of(29, 16384, 53248, 128256), 8));
}

// Bytes of a parameter: Megatron 4 + 4 + 8 / d (docs/user-guide/features/dist_optimizer.md), FSDP 16 / d and gathers of
// 4. A product in TF32 is as much faster than one in FP32 as its peak is higher.
// Catches: fp32 on GPUs counted with weights and gathers of two bytes, or with a kernel that takes 16 bits only.
TEST_CASE("fp32 on GPUs has weights of four bytes", "[models][framework]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  job.cluster.instance = gpu_machine();
  job.cluster.instance.core.fp32 = FlopsPerSecond(67e12);
  job.cluster.instance.core.tf32 = FlopsPerSecond(495e12);
  job.training.precision = Precision::fp32;
  const Profile profile = gpu_profile();
  for (const char* loop : {"megatron", "megatron-bridge"}) {
    const Strategy s = strategy_of(job, std::string("tp=4,framework=") + loop);
    CHECK_FALSE(s.flash_attention);
    const StageMemory m = memory_of(job, s, profile).stages.front();
    const double n = local_parameters(job.architecture, s, 0);
    CHECK(m.parameters.value == 4 * n);
    CHECK(m.gradients.value == 4 * n);
    CHECK(m.optimizer.value == Approx(8 * n / 2));
    CHECK(framework_of(s).weights(s)->bytes == 4);
    CHECK(framework_of(s).gradients(s).bytes == 4);
    CHECK_FALSE(framework_of(s).flash_takes(s.precision));
    Seconds qkv{}, head{};
    double of_qkv = 0, of_head = 0;
    const LayerModel model(job, s, profile);
    for (const Operator& o : model.layer_forward(LayerTurn::inner))
      if (o.name == "qkv") qkv = o.seconds, of_qkv = o.flops.value;
    for (const Operator& o : model.head_forward())
      if (o.name == "lm_head") head = o.seconds, of_head = o.flops.value;
    CHECK(of_qkv / qkv.value > 4 * of_head / head.value);
  }
  const Strategy sharded = strategy_of(job, "tp=1,framework=fsdp");
  CHECK(sharded.flash_attention);  // PyTorch's memory-efficient kernel
  CHECK(framework_of(sharded).units(sharded)->gathered == 4);
  CHECK(framework_of(sharded).units(sharded)->reduced == 4);
  CHECK_FALSE(StepModel::not_modelled(job, strategy_of(job, "tp=4,framework=nanotron")).empty());
}

TEST_CASE("nanotron cuts a model by the cost of its blocks", "[models][framework]") {
  const Framework& f = framework("nanotron");
  const Architecture a = of(16, 2048, 8192, 131072);
  CHECK(f.partition(a, 2) == std::vector<int>{10, 6});
  CHECK(f.partition(a, 4) == std::vector<int>{5, 5, 5, 1});
  Strategy s;
  s.pipeline_parallel = 2;
  s.framework = stated_framework("nanotron");
  CHECK(layers_per_stage(a, s) == std::vector<int>{10, 6});
  // 20 over 16 is 1.25 per stage: after 2, 3, 4 and 5 layers one, two, three and four shares are full. 16
  // layers are 12.8 shares: the head takes the last three stages.
  CHECK(f.partition(a, 16) == std::vector<int>{2, 1, 1, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 0, 0, 0});
}

// A compiler drops the down product of a recomputed layer and the collective after it, which nothing reads.
TEST_CASE("without a compiler a recomputed layer runs whole", "[models][framework]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  job.cluster.instance = gpu_machine();
  const Profile profile = gpu_profile();
  Strategy s = strategy_of(job, "tp=8,recompute=full");
  const auto downs = [&](const char* name) {
    s.framework = stated_framework(name);
    return count(LayerModel(job, s, profile).layer_backward(), "down");
  };
  CHECK(downs("nxd") == 2);  // for the gradient only
  CHECK(downs("megatron-deepspeed") == 3);
  CHECK(downs("nanotron") == 5);  // the gradient of the input in three pieces
}

// Llama-3 8B on 8 GPUs: with FP8 weights alone those of 32 layers are gathered in 1 byte, the embedding and the head, of
// 128,256 x 4096 each, and the last norm in 2; in FP8 products alone all are in 2. Catches: ends in FP8, and a gather
// once a step that forgets the layers.
TEST_CASE("weights that are stored in FP8 alone are gathered in it", "[models][framework]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  job.cluster.instance = gpu_machine();
  const Profile profile = gpu_profile();
  const double ends = 2.0 * 128256 * 4096 + 4096;
  for (const char* loop : {"megatron", "megatron-bridge", "megatron-fsdp"}) {
    CAPTURE(loop);
    const auto gathered = [&](const std::string& precision) {
      Strategy s = strategy_of(job, std::string("tp=1,mbs=1,framework=") + loop);
      s.precision = *precision_from(precision);
      const LayerModel model(job, s, profile);
      const EndOfStep end = end_of_step(job, s, profile, model, 0, 32);
      double bytes = 0;
      const auto add = [&](const std::vector<EndCall>& calls, double times) {
        for (const EndCall& c : calls) bytes += times * c.call.bytes.value * c.call.repeat;
      };
      add(end.gather, 1);
      add(end.ahead_layer, 32);
      add(end.ahead_head, 1);
      add(end.ahead_embedding, 1);
      for (const Operator& o : model.layer_forward(LayerTurn::inner))
        bytes += o.name == "weights" ? 32 * o.bytes.value : 0;
      return bytes;
    };
    const bool by_unit = std::string_view(loop) == "megatron-fsdp";
    const double layers = stage_parameters(job.architecture, strategy_of(job, "tp=1"), 0, 32) - ends;
    CHECK(gathered("fp8") == Approx(2 * layers + (by_unit ? 0 : 2 * ends)));
    CHECK(gathered("fp8_param_gather") == Approx(layers + (by_unit ? 0 : 2 * ends)));
  }
  Strategy s = strategy_of(job, "tp=1,framework=fsdp");
  s.precision = Precision::fp8_param_gather;
  CHECK(StepModel::not_modelled(job, s).find("stored in FP8 alone") != std::string::npos);
}

TEST_CASE("nanotron reduces all of its gradients in fp32, during the backward pass without ZeRO-1",
          "[models][framework]") {
  const Framework& f = framework("nanotron");
  Strategy s;
  for (const bool zero1 : {false, true}) {
    s.zero1 = zero1;
    CHECK(f.gradients(s).op == CollectiveOp::all_reduce);
    CHECK(f.gradients(s).bytes == 4);
    CHECK(f.weights(s).has_value() == zero1);
    CHECK(f.reduces_with_backward(s) == !zero1);
  }
  CHECK_FALSE(framework("megatron-deepspeed").reduces_with_backward({}));
}

// 18 bytes per parameter, with the distributed optimizer 6 + 12 / (DP x CP). Buckets of 40 M parameters up to
// 40 ranks, of 1 M for each rank above: in fp32 160 MB and 256 MB.
TEST_CASE("Megatron reduces fp32 gradients in buckets during the last backward pass", "[models][framework]") {
  const Framework& f = framework("megatron");
  Strategy s;
  s.data_parallel = 8;
  for (const bool zero1 : {false, true}) {
    s.zero1 = zero1;
    const StateBytes per = f.state_bytes(s);
    CHECK(per.parameter + per.gradient + per.shard == 18);
    CHECK(per.parameter + per.gradient == 6);
    CHECK(f.gradients(s).op == (zero1 ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce));
    CHECK(f.gradients(s).bytes == 4);
    CHECK(f.gradients(s).bucket == Bytes(160e6));
    CHECK(f.weights(s).has_value() == zero1);
  }
  s.data_parallel = 32;
  s.context_parallel = 2;
  CHECK(f.gradients(s).bucket == Bytes(256e6));
  CHECK(f.reduces_with_backward({}));
}

// Neighbours share one copy of the states: 64 ranks in groups of 16 have four copies. The states of a rank are a
// sixteenth, its reduced shard is added up over the copies, and buckets of 64 M parameters are a sixteenth then.
TEST_CASE("Megatron's copies of the optimizer's states share it among neighbours", "[models][framework]") {
  const Framework& f = framework("megatron");
  Strategy s;
  s.framework = stated_framework("megatron");
  s.zero1 = true;
  s.data_parallel = 64;
  CHECK_FALSE(f.copies(s));
  s.shard_ranks = 16;
  CHECK(sharding_problem(f, s).empty());
  CHECK(f.gradients(s).group == ProcessGroup::shard);
  CHECK(f.weights(s)->group == ProcessGroup::shard);
  CHECK(f.copies(s)->op == CollectiveOp::all_reduce);
  CHECK(f.copies(s)->group == ProcessGroup::shard_copies);
  CHECK(f.copies(s)->bucket == Bytes(4 * 64e6 / 16));
  CHECK_FALSE(f.tries_shard_groups());
  s.pipeline_parallel = 2;
  CHECK(sharding_problem(f, s).empty());
  s.expert_parallel = 2;
  CHECK(contains(sharding_problem(f, s), "expert parallel"));
  Job job = job_of("llama3-8b", 8, 2048, 64);
  job.cluster.instance = gpu_machine();
  const auto states = [&](const char* text) {
    return memory_of(job, strategy_of(job, text), gpu_profile()).worst().optimizer.value;
  };
  CHECK(states("tp=1,framework=megatron,shard_degree=8") ==
        Approx(8 * states("tp=1,framework=megatron")).epsilon(1e-3));
}

TEST_CASE("Megatron's sends wait for their receives unless stages are interleaved", "[models][framework]") {
  const Framework& f = framework("megatron");
  Strategy s;
  s.pipeline_parallel = 4;
  CHECK(f.sends_block(s));
  s.virtual_pipeline = 2;
  CHECK_FALSE(f.sends_block(s));
}

// Llama-3 8B, 8192 tokens, TP 8: 8192 * 128256 / 8 logits, of 6 bytes in Megatron's loss and of 14 in NxD's.
TEST_CASE("a framework says what its loss keeps of a logit", "[models][memory]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  job.cluster.instance = gpu_machine();
  const Profile profile = gpu_profile();
  Strategy s = strategy_of(job, "tp=8");
  const auto head = [&](const char* name) {
    s.framework = stated_framework(name);
    return memory_of(job, s, profile).stages.back().head_forward.logits;
  };
  CHECK(head("megatron") == Bytes(6.0 * 8192 * 128256 / 8));
  CHECK(head("nxd") == Bytes(14.0 * 8192 * 128256 / 8));
  CHECK(head("nanotron") == Bytes(8.0 * 8192 * 128256 / 8));
}

// Llama-3 8B, 8192 tokens, TP 8 with sequence parallel: 1024 tokens a rank, h 4096, k and v 1024 wide each, f
// 14336. Fused: two norms keep their inputs and outputs, 8 h; q and the output of attention 4 h; k and v 4 x
// 1024; gate, up and product 6 f. Eager: 8 f in the MLP; without grouped queries, and with two sequences, h each
// for the keys and values that queries are a view of, 4, and the copy of attention's output, 2.
TEST_CASE("fused kernels keep less of a layer than operators one at a time", "[models][memory]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  job.cluster.instance = gpu_machine();
  const Profile profile = gpu_profile();
  Strategy s = strategy_of(job, "tp=8");
  const auto stage = [&](const char* name) {
    s.framework = stated_framework(name);
    return memory_of(job, s, profile).stages.front();
  };
  CHECK(stage("megatron").per_layer == Bytes(1024.0 * (12 * 4096 + 4 * 1024 + 6 * 14336)));
  CHECK(stage("nanotron").per_layer == Bytes(1024.0 * (12 * 4096 + 4 * 1024 + 8 * 14336)));
  // Backward: the input gathered again and its gradient, 2 T h each, gradients inside the MLP of 12 f, a
  // bucket of 25 MiB.
  CHECK(stage("nanotron").moments[1].staging ==
        Bytes(4.0 * 8192 * 4096 + 12.0 * 1024 * 14336 + 25.0 * 1024 * 1024));
  CHECK(stage("megatron").moments[1].staging == Bytes(4.0 * 8192 * 4096 + 6.0 * 1024 * 14336));
  s.micro_batch = 2;
  job.architecture.kv_heads = job.architecture.heads;
  CHECK(stage("nanotron").per_layer == Bytes(2048.0 * ((8 + 6 + 8) * 4096 + 8 * 14336)));
}

// A sequence of 64 tokens keeps less than 2 bytes a parameter: the pass needs most at its end, when its gradients
// are whole and its activations gone, but for those of the second micro-batch in flight with PP 2.
TEST_CASE("gradients of a pass take the place of its activations", "[models][memory]") {
  Job job = job_of("llama3-8b", 1, 64, 64);
  job.cluster.instance = gpu_machine();
  const Profile profile = gpu_profile();
  for (const int stages : {1, 2}) {
    Strategy s = strategy_of(job, stages == 1 ? "tp=8" : "tp=4,pp=2");
    s.framework = stated_framework("nanotron");
    const StageMemory m = memory_of(job, s, profile).stages.front();
    CHECK(m.moments[1].staging.value == Approx(m.parameters.value + 25.0 * 1024 * 1024));
    CHECK(m.moments[1].activations == (stages - 1.0) * (m.layers * m.per_layer + m.per_pass));
  }
}

// PP 2, TP 4: the message is 2 T h / 4. The received one is the first layer's input; Megatron drops the sent
// one.
TEST_CASE("a micro-batch in flight keeps the message it sent, or not", "[models][memory]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  job.cluster.instance = gpu_machine();
  const Profile profile = gpu_profile();
  Strategy s = strategy_of(job, "tp=4,pp=2");
  const auto kept = [&](const char* name) {
    s.framework = stated_framework(name);
    return memory_of(job, s, profile).stages.front().per_pass;
  };
  CHECK(kept("nanotron") == Bytes(2.0 * 8192 * 4096 / 4));
  CHECK(kept("megatron") == Bytes(0));
}

// Catches: a queue where the host sleeps, where each call holds it up, or on the slowest stage, and a pool larger than
// the device. Llama-3 8B, 8192 tokens: an activation of the whole micro-batch has 2 x 8192 x 4096 bytes.
TEST_CASE("activations wait for collectives where the host is ahead of the device", "[models][memory]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  job.cluster.instance = gpu_machine();
  Profile profile = gpu_profile();
  profile.value(allocator::queued_tensors) = {50, 0.2, "made up"};
  profile.value(common::fragmentation) = {1.1, 0.05, "made up"};
  const auto stages = [&](const std::string& layout) {
    return memory_of(job, strategy_of(job, layout), profile).stages;
  };
  const StageMemory m = stages("tp=8,framework=nanotron").front();
  const Bytes waiting(50 * 2.0 * 8192 * 4096), tensors = m.peak() - m.runtime;
  CHECK(m.queued == waiting);
  const auto reserved = [&](Bytes limit) { return held_by(m, profile, HeldMemory::reserved, limit); };
  CHECK(reserved(gibibytes(80)).value == Approx((1.1 * tensors + waiting).value));
  CHECK(reserved(m.runtime + 1.1 * tensors + Bytes(1e9)).value == Approx(1.1 * tensors.value + 1e9));
  CHECK(reserved(m.runtime).value == Approx(1.1 * tensors.value));
  CHECK(held_by(m, profile, HeldMemory::allocated, gibibytes(80)) == tensors);

  CHECK(stages("tp=8,framework=nanotron-polling").front().queued == Bytes(0));
  CHECK(stages("tp=1,framework=nanotron").front().queued == Bytes(0));
  CHECK_FALSE(stages("tp=8,framework=megatron").front().queued);
  // The head costs as much as two layers and more: 17 and 15 of 32, and 9, 9, 8 and 6.
  const std::vector<StageMemory> two = stages("tp=4,pp=2,framework=nanotron");
  REQUIRE(two[0].layers > two[1].layers);
  CHECK(two[0].queued == Bytes(0));
  CHECK(two[1].queued == waiting);
  const std::vector<StageMemory> four = stages("tp=2,pp=4,framework=nanotron");
  REQUIRE(four[0].layers == four[1].layers);
  CHECK(four[0].queued == waiting);

  profile.network.emplace();
  profile.network->call_per_rank = Seconds(1e-4);
  CHECK(stages("tp=8,framework=nanotron").front().queued == Bytes(0));
  CHECK(stages("tp=2,pp=4,framework=nanotron").front().queued == waiting);
}

// Weights 2, fp32 sums 4, and 2 in the buckets of DistributedDataParallel, which neither a single replica nor
// ZeRO-1 needs.
TEST_CASE("nanotron holds buckets of gradients where it has replicas", "[models][memory]") {
  const Framework& f = framework("nanotron");
  Strategy s;
  s.zero1 = false;
  CHECK(f.state_bytes(s).parameter + f.state_bytes(s).gradient == 6);
  s.data_parallel = 8;
  CHECK(f.state_bytes(s).parameter + f.state_bytes(s).gradient == 8);
  s.zero1 = true;
  CHECK(f.state_bytes(s).parameter + f.state_bytes(s).gradient == 6);
  CHECK(f.state_bytes(s).shard == 12);
}

// A product n x k times k x m of 8-bit elements: 2 n k m at 0.9 gemm_share of the FP8 peak, casts of both
// operands (3 bytes per element) and three kernel starts.
TEST_CASE("a product in FP8 has its rate and its casts", "[models][gpu]") {
  const topology::Core core = gpu_machine().core;
  const Profile profile = gpu_profile();
  const DeviceContext on{core, profile};
  const double n = 8192, k = 8192, m = 28672;
  const Device& device = device_of(core);
  REQUIRE(device.has_fp8(core));
  const double ramp = 1 + profile[gpu::gemm_ramp] * (1 / n + 1 / k + 1 / m);
  const double engine =
      2 * n * k * m * ramp / (core.fp8.value * profile[gpu::gemm_share] * profile[gpu::fp8_share]);
  const double casts = 3 * (n * k + k * m) / (core.hbm.value * profile[gpu::bandwidth_share]);
  const Work fp8 = device.matmul(on, {n, k, m, true});
  CHECK(fp8.seconds.value == Approx(engine + casts + 3 * profile[gpu::kernel_start]).epsilon(1e-12));
  CHECK(fp8.seconds < device.matmul(on, {n, k, m}).seconds);
  CHECK(fp8.flops == device.matmul(on, {n, k, m}).flops);
}

// Four ranks: the last block of a sequence sees its own half and three whole blocks, 3.5; two pieces from
// either end see half of each of the four, 2. So for attention alone the balanced ranks take 4 / 7.
TEST_CASE("context parallel in balanced pieces has the average of causal scores", "[models][gpu]") {
  Job job = job_of("llama3-8b", 1, 65536, 8);
  job.cluster.instance = gpu_machine();
  const Profile profile = gpu_profile();
  const auto attention = [&](const char* name) {
    Strategy s = strategy_of(job, "tp=1,cp=4");
    s.framework = stated_framework(name);
    double seconds = 0;
    for (const Operator& o : LayerModel(job, s, profile).layer_forward()) {
      if (o.name == "attention") seconds += o.seconds.value;
    }
    return seconds - 4 * profile[gpu::kernel_start];
  };
  CHECK(attention("fsdp") == Approx(attention("nxd") * 4 / 7).epsilon(1e-9));
}

TEST_CASE("FP8 is refused where no product of it is timed", "[models]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  Strategy s = strategy_of(job, "tp=8");
  s.precision = Precision::fp8;
  CHECK(StepModel::not_modelled(job, s).find("FP8") != std::string::npos);
  job.cluster.instance = gpu_machine();
  CHECK(StepModel::not_modelled(job, s).empty());
}
