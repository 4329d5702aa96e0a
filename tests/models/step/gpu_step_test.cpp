// Steps on machines with GPUs: the forms of a step agree, the bound holds, and the times added by host and
// network.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <boost/random/mersenne_twister.hpp>
#include <boost/random/uniform_int_distribution.hpp>

#include "models/collective/collective.h"
#include "models/collective/switched_parameters.h"
#include "models/framework/framework.h"
#include "models/operators/operators.h"
#include "models/step/launched_work.h"
#include "models/step/step.h"
#include "models/step/step_parts.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "tests/seeds.h"
#include "topology/placement.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Profile host_bound_profile() {
  Profile p = gpu_profile();
  p.value(gpu::host_layer) = {1e-3, 0.1, "made up"};
  p.value(gpu::kernel_start) = {4e-6, 0.1, "made up"};
  p.value(gpu::gemm_ramp) = {100, 0.1, "made up"};
  p.value(switched::ring_wait) = {4e-5, 0.1, "made up"};
  return p;
}

Job short_gpu_job(int nodes, int batch) {
  Job job = job_of("llama3-8b", nodes, 2048, batch);
  job.cluster.instance = gpu_machine();
  return job;
}

}  // namespace

TEST_CASE("steps on GPUs are the same folded and flat, and no shorter than their bound", "[models]") {
  const unsigned seed = GENERATE(from_range(seeds(1, 200)));
  boost::random::mt19937 random(seed);
  const auto pick = [&](std::initializer_list<int> from) {
    return *(from.begin() +
             boost::random::uniform_int_distribution<int>(0, static_cast<int>(from.size()) - 1)(random));
  };
  const int nodes = pick({1, 2, 4}), tensor = pick({1, 2, 4, 8, 16}), pipeline = pick({1, 1, 2, 4});
  const int ranks = nodes * 8;
  if (tensor * pipeline > ranks) return;
  Job job = short_gpu_job(nodes, ranks / (tensor * pipeline) * pick({4, 8}));
  job.architecture.layers = pick({4, 5, 8});
  job.architecture.hidden = pick({1024, 4096});
  job.architecture.head_dim = job.architecture.hidden / job.architecture.heads;
  const bool chunks = pipeline > 1 && pick({0, 0, 1}) == 1;
  if (chunks) job.architecture.layers = 8;
  Strategy s = strategy_of(job, "tp=" + std::to_string(tensor) + ",pp=" + std::to_string(pipeline) +
                                    (chunks ? ",vpp=2" : "") + (pick({0, 1}) == 1 ? ",zero1=false" : "") +
                                    (pick({0, 1}) == 1 ? ",recompute=full" : "") +
                                    (pick({0, 0, 1}) == 1 ? ",sp=false" : ""));
  const std::vector<std::string_view> names = framework_names();
  s.framework = stated_framework(names[static_cast<std::size_t>(
      boost::random::uniform_int_distribution<int>(0, static_cast<int>(names.size()) - 1)(random))]);
  if (!StepModel::not_modelled(job, s).empty()) return;
  CAPTURE(seed, nodes, tensor, pipeline, chunks, s.framework);
  const Profile profile = host_bound_profile();
  const topology::ChipGraph graph(job.cluster.instance);
  const StepModel model(job, s, profile, graph);
  const StepReport folded = model.simulate();
  // A flow that stands for several of the flat form may end a tick apart from them: in 3 of 6,000 seeds, by 1 to 10 ps.
  CHECK(std::abs(model.simulate({.flat = true}).step.value - folded.step.value) <= 16e-12);
  CHECK(model.simulate({.unfolded = true}).step == folded.step);
  CHECK(model.lower_bound() <= folded.step);
}

// 7 million tasks: the first runs in search of a rhythm, of 16 and 32 micro-batches, would show none, and are put off.
TEST_CASE("a large step of interleaved stages is the same folded and whole", "[models]") {
  const Job job = short_gpu_job(4, 4096);
  const Strategy s = strategy_of(job, "tp=8,pp=4,vpp=4,schedule=interleaved,framework=megatron");
  const Profile profile = host_bound_profile();
  const topology::ChipGraph graph(job.cluster.instance);
  const StepModel model(job, s, profile, graph);
  const StepReport folded = model.simulate({.expand = true}),
                   whole = model.simulate({.expand = true, .unfolded = true});
  CHECK(folded.folded);
  CHECK(folded.tasks > 4'000'000);
  CHECK(folded.tasks == whole.tasks);
  CHECK(folded.step == whole.step);
  CHECK(folded.breakdown == whole.breakdown);
}

// A fault in what is joined would show as another time, or as another share of an operator or parameter. CP over nodes
// shares NICs with the messages between stages; TP inside nodes shares nothing.
TEST_CASE("operators that share nothing are one task, to the tick", "[models]") {
  const Profile profile = host_bound_profile();
  for (const char* text :
       {"tp=8,cp=2,pp=2,vpp=2,schedule=interleaved", "tp=8,cp=2,pp=2,vpp=4,schedule=interleaved",
        "tp=4,cp=4,pp=2,vpp=2,schedule=interleaved,recompute=full", "tp=8,cp=2,pp=2,sp=false"}) {
    CAPTURE(text);
    const Job job = short_gpu_job(4, 32);
    const Strategy s = strategy_of(job, std::string(text) + ",framework=megatron");
    const StepModel model(job, s, profile, topology::ChipGraph(job.cluster.instance));
    const StepReport joined = model.simulate({.unfolded = true}),
                     each = model.simulate({.expand = true, .unfolded = true});
    CHECK((s.virtual_pipeline == 1 || joined.expanded));
    CHECK(joined.tasks < each.tasks);
    CHECK(joined.step == each.step);
    CHECK(joined.breakdown == each.breakdown);
    CHECK(joined.by_operator == each.by_operator);
    CHECK(joined.by_parameter == each.by_parameter);
  }
}

// Copies of the states on each of four nodes: reductions inside a node, then of an eighth between nodes, whose NICs
// are the slowest part. Over all ranks the whole buffer crosses them.
TEST_CASE("steps with copies of the optimizer's states are the same folded and flat", "[models]") {
  Job job = short_gpu_job(4, 32);
  job.architecture.layers = 4;
  const topology::ChipGraph graph(job.cluster.instance);
  const Profile profile = host_bound_profile();
  for (const char* text : {"tp=1,shard_degree=8", "tp=2,pp=2,shard_degree=4", "tp=4,shard_degree=4,cp=2"}) {
    CAPTURE(text);
    const Strategy s = strategy_of(job, std::string("framework=megatron,mbs=1,") + text);
    REQUIRE(s.shard_ranks > 0);
    const StepModel model(job, s, profile, graph);
    const StepReport folded = model.simulate();
    CHECK(model.simulate({.flat = true}).step == folded.step);
    CHECK(model.simulate({.unfolded = true}).step == folded.step);
    CHECK(model.lower_bound() <= folded.step);
    Strategy all = s;
    all.shard_ranks = 0;
    CHECK(StepModel(job, all, profile, graph).simulate().step != folded.step);
  }
}

// 2048 tokens of 4096 elements of 2 bytes are 16 MiB. DeepSpeed's ranks send an eighth each and gather the rest, also
// with sequence parallel, whose ranks have an eighth anyway; Megatron's send all of it.
TEST_CASE("messages between stages are cut over tensor-parallel ranks", "[models]") {
  const Job job = short_gpu_job(2, 8);
  const Profile profile = gpu_profile();
  const auto sent = [&](const char* text) {
    const Strategy s = strategy_of(job, std::string("tp=8,pp=2,") + text);
    const LayerModel model(job, s, profile);
    const OperatorList gather = model.gather_message();
    double gathered = 0;
    for (const Operator& o : gather) {
      CHECK(o.process_group == ProcessGroup::tensor);
      CHECK(o.op == CollectiveOp::all_gather);
      gathered += o.bytes.value;
    }
    return std::pair(model.boundary().value, gathered);
  };
  const double all = 16 << 20;
  CHECK(sent("sp=false,framework=megatron-deepspeed") == std::pair(all / 8, all));
  CHECK(sent("sp=true,framework=megatron-deepspeed") == std::pair(all / 8, 0.0));
  CHECK(sent("sp=false,framework=megatron") == std::pair(all, 0.0));
}

// Fused, a score moves 8 bytes forward and 14 backward through a memory of 2 TB/s; one operator at a time 26 and 30.
// 4 GPUs of a tensor-parallel group have 8 of 32 heads: 8 x 2048^2 scores a layer.
TEST_CASE("softmax is fused where the training loop or the stack says so", "[models]") {
  Job job = short_gpu_job(2, 8);
  const double scores = 8 * 2048.0 * 2048;
  const auto attention = [&](const char* framework, const char* stack, const char* layout = "tp=4") {
    job.software.framework = stack;
    const Strategy s = strategy_of(job, std::string(layout) + ",flash=false,framework=" + framework);
    const Profile profile = gpu_profile();
    const LayerModel model(job, s, profile);
    double seconds = 0;
    for (const OperatorList& list : {model.layer_forward(), model.layer_backward()}) {
      for (const Operator& o : list) seconds += o.name == "attention" ? o.seconds.value : 0;
    }
    return seconds;
  };
  const double more = (26 + 30 - 8 - 14) * scores / 2e12;
  for (const char* loop : {"megatron", "megatron-deepspeed"}) {
    CHECK(attention(loop, "megatron") == attention(loop, "nxdt"));
    // With 16 ranks a rank has 2 squares of a sequence, a quarter of 8: too few for a block of the kernel, which was
    // taken all the same. Of two sequences it has 4.
    const double one = attention(loop, "megatron", "tp=16") - attention(loop, "nxdt", "tp=16");
    CHECK(one == Approx(more / 4));
    CHECK(attention(loop, "megatron", "tp=16,mbs=2") == attention(loop, "nxdt", "tp=16,mbs=2"));
    const Framework& f = framework_of(strategy_of(job, std::string("tp=4,framework=") + loop));
    CHECK(f.fuses_softmax({4, 4096, 4096, true}));  // the kernel's last size
    CHECK_FALSE(f.fuses_softmax({4, 4100, 4100, true}));
    CHECK_FALSE(f.fuses_softmax({4, 2046, 2046, true}));
    // Up to 128 keys a block has 8 rows: of one square for causal scores, whatever their number is for others.
    CHECK(f.fuses_softmax({8, 128, 128, true}));
    CHECK_FALSE(f.fuses_softmax({4, 128, 128, true}));
    CHECK(f.fuses_softmax({4, 128, 128, false}));
    CHECK_FALSE(f.fuses_softmax({8, 16, 16, true}));
  }
  CHECK(attention("nanotron", "megatron") - attention("nanotron", "nxdt") == Approx(more));
}

// Eight replicas of one GPU each, whose gradients are reduced after the last backward pass: the others wait for the
// slow one, whose work takes half as long again, and nothing hides it.
TEST_CASE("a slow core of a ring adds its own delay to the step", "[models]") {
  const Job job = short_gpu_job(1, 8);
  const Strategy s = strategy_of(job, "tp=1,zero1=false,framework=megatron-deepspeed");
  const Profile profile = gpu_profile();
  const topology::ChipGraph graph(job.cluster.instance);
  const StepModel model(job, s, profile, graph);
  const StepReport ideal = model.simulate(), slow = model.simulate({.scenario = {{{5, 1, 1.5}}}});
  const auto part = [&](const StepReport& r, Category c) {
    return r.breakdown[static_cast<std::size_t>(c)].value;
  };
  const double work = part(ideal, Category::compute), update = part(ideal, Category::optimizer);
  CHECK(slow.step.value - ideal.step.value == Approx((work + update) / 2).epsilon(1e-9));
  CHECK(part(slow, Category::compute) == Approx(1.5 * work).epsilon(1e-9));
  CHECK(part(slow, Category::data_parallel) == Approx(part(ideal, Category::data_parallel)).epsilon(1e-9));
  const std::vector<CoreWork> cores = model.core_work({{{5, 1, 1.5}}});
  REQUIRE(cores.size() == 2);
  CHECK(cores[0].cores == 7);
  CHECK(cores[1].factor == 1.5);
  CHECK((cores[1].work - cores[0].work).value == Approx((work + update) / 2).epsilon(1e-9));
}

TEST_CASE("a factor of 1 changes nothing", "[models]") {
  const Job job = short_gpu_job(2, 16);
  const Strategy s = strategy_of(job, "tp=2,pp=2");
  const Profile profile = gpu_profile();
  const topology::ChipGraph graph(job.cluster.instance);
  const StepModel model(job, s, profile, graph);
  CHECK(model.simulate({.scenario = {{{3, 4, 1.0}}}}).step == model.simulate().step);
}

// Busy 3, host 4: (3^6 + 4^6)^(1/6) = (729 + 4096)^(1/6) = 4.11070, 1.11070 more than 3. Far below the host vanishes.
TEST_CASE("a pass takes what the host needs beyond what the device is busy", "[models][device]") {
  CHECK(beyond_busy(Seconds(3), Seconds(4)).value == Approx(1.11070).epsilon(1e-5));
  CHECK(beyond_busy(Seconds(0), Seconds(4)).value == Approx(4));
  CHECK(beyond_busy(Seconds(4), Seconds(0)).value == 0);
  CHECK(beyond_busy(Seconds(1), Seconds(0.1)).value < 1e-6);
}

// 3 s of work, then 1 s that the host launches in 4 s: the device has 4 s when it has launched all, and the wait is
// (4^6 + 4^6)^(1/6) - 4 = 4 (2^(1/6) - 1) = 0.48985, in four equal lists a quarter of it each. The rest of that is left
// for what follows. A list in which the host waits for the device leaves nothing.
TEST_CASE("the host launches a list while the device works on those before", "[models][device]") {
  const auto seconds = [](SimTime t) { return to_seconds(t).value; };
  const auto list = [](double host, bool of_pass) {
    return Launches({{.name = "launches", .host = Seconds(host), .of_pass = of_pass}});
  };
  const SimTime second = to_sim_time(Seconds(1));
  HostQueue one, four, waits;
  CHECK(one.wait(second * 3, Launches(), 1).ps == 0);
  CHECK(four.wait(second, Launches(), 3).ps == 0);
  CHECK(seconds(one.wait(second, list(4, true), 1)) == Approx(0.48985).epsilon(1e-4));
  CHECK(seconds(four.wait(to_sim_time(Seconds(0.25)), list(1, true), 4)) ==
        Approx(0.48985 / 4).epsilon(1e-4));
  CHECK(seconds(one.wait({}, list(100, true), 1)) == Approx(100 - 0.48985).epsilon(1e-5));
  CHECK(waits.wait(second * 3, Launches(), 1).ps == 0);
  CHECK(waits.wait(second, list(4, false), 1).ps == 0);
  CHECK(seconds(waits.wait({}, list(4, true), 1)) == Approx(4));
}

// A second a layer and pass, far above the device's work. The head of a forward pass comes after its launches; a
// backward pass is launched while the head of both passes runs, unless the stage has none: then it starts with
// nothing queued. Catches an excess of each layer by itself, and a lead that a message does not end.
TEST_CASE("the head hides the host's launches of a backward pass", "[models]") {
  const Job job = short_gpu_job(2, 16);
  Profile slow = gpu_profile();
  slow.value(gpu::host_layer) = {1, 0.1, "made up"};
  slow.value(loop::task_launch) = slow.value(loop::graph_launch) = {1e-12, 0.1, "made up"};
  const topology::ChipGraph graph(job.cluster.instance);
  const auto chunk = [&](const char* text, int stage) {
    const StepParts parts(job, strategy_of(job, std::string("framework=nanotron,") + text), slow, graph);
    return parts.work(stage).chunks.front();
  };
  const auto time = [](const Pass& pass, Chain::Part part) {
    double seconds = 0;
    for (const Chain& c : pass.chains)
      seconds += c.part == part ? to_seconds(c.run->length * c.times).value : 0;
    return seconds;
  };
  using enum Chain::Part;
  for (const auto& [text, stage, layers] :
       {std::tuple{"tp=8", 0, 32}, {"tp=8,pp=2", 1, 14}, {"tp=8,pp=2", 0, 18}}) {
    CAPTURE(text, stage);
    const Chunk c = chunk(text, stage);
    const double host = layers * pace_of(slow, job);
    const double head = time(c.forward, Chain::Part::head), back = time(c.backward, Chain::Part::head);
    CHECK(time(c.forward, layer) + time(c.forward, embedding) == Approx(host).epsilon(1e-4));
    CHECK(time(c.backward, layer) == Approx(host - head - back).epsilon(1e-4));
    CHECK((head + back > 0) == (stage == 1 || layers == 32));
  }
}

// With a host that is far slower than the device a layer takes its host_layer in each pass, collectives and all.
TEST_CASE("collectives of a layer hide behind a slow host", "[models]") {
  const Job job = short_gpu_job(1, 8);
  Profile slow = gpu_profile();
  slow.value(gpu::host_layer) = {1, 0.1, "made up"};
  const auto step = [&](const char* text, const Profile& p) {
    return simulate_step(job, strategy_of(job, text), p).step.value;
  };
  // 32 layers of two passes of a second, 8 or 1 micro-batches.
  CHECK(step("tp=8", slow) == Approx(8 * 64).epsilon(0.01));
  CHECK(step("tp=1", slow) == Approx(64).epsilon(0.01));
  CHECK(step("tp=8", gpu_profile()) < 8);
}

// Mixtral with EP 4: a rank has 2 of 8 experts, to which 2 x 4096 rows of 4096 elements come. Before the exchange
// 4096 tokens are read and 8192 rows written, after it 8192 are read and written, and back: 2 x (12288 + 16384) rows
// of 8 KiB forward and as many backward.
// Catches: copies that are counted once a pass, without an exchange, or for padded experts.
TEST_CASE("tokens are copied into the order of their experts and back", "[models]") {
  Job job = job_of("mixtral-8x7b", 1, 4096, 8);
  job.cluster.instance = gpu_machine();
  const Profile p = gpu_profile();
  const auto copied = [&](const char* text) {
    const Strategy s = strategy_of(job, text);
    const LayerModel layer(job, s, p);
    double seconds = 0;
    for (const OperatorList& pass : {layer.layer_forward(), layer.layer_backward()})
      for (const Operator& o : pass)
        for (const char* name : {"tokens by expert", "rows by expert", "rows by rank",
                                 "rows of a token added", "gradient of each row", "gradient rows by expert",
                                 "gradient rows by rank", "gradient of each token"})
          if (o.name == name) seconds += o.seconds.value;
    return seconds * job.cluster.instance.core.hbm.value * p[gpu::bandwidth_share] / (4096 * 2);
  };
  CHECK(copied("tp=1,ep=4,framework=megatron") == Approx(4 * (12288 + 16384)));
  CHECK(copied("tp=1,framework=megatron") ==
        Approx(4 * 12288));  // eight experts of one rank: rows come in their order
  job.architecture.capacity_factor = 1;
  CHECK(copied("tp=1,ep=4,framework=megatron") == 0);
}

// EP 4 of TP 2 holds two halves of experts, EP 8 one whole: as many weights and FLOPs. Whole experts get half the
// tokens of each rank, and nothing gathers or scatters tokens around them.
// Catches: whole experts that TP's collectives still surround, or whose ranks route all tokens.
TEST_CASE("experts that TP does not cut take the tokens of their rank's part of the sequence", "[models]") {
  Job job = job_of("mixtral-8x7b", 1, 8192, 8);
  job.cluster.instance = gpu_machine();
  struct Seen {
    double flops = 0, exchanged = 0, parameters = 0;
    int tensor = 0;
  };
  const Profile profile = gpu_profile();
  const auto seen = [&](const char* text, bool backward) {
    const Strategy s = strategy_of(job, text);
    const LayerModel model(job, s, profile);
    Seen all;
    for (const Operator& o : backward ? model.layer_backward() : model.layer_forward()) {
      if (o.name == "gate_up" || o.name == "down") all.flops += o.flops.value;
      if (o.process_group == ProcessGroup::expert) all.exchanged += o.bytes.value;
      all.tensor += o.process_group == ProcessGroup::tensor ? 1 : 0;
    }
    all.parameters = local_parameters(job.architecture, s, 0);
    return all;
  };
  for (const bool backward : {false, true}) {
    const Seen cut = seen("tp=2,ep=4,framework=megatron", backward),
               whole = seen("tp=2,ep=8,etp=1,framework=megatron", backward);
    CHECK(whole.flops == Approx(cut.flops));
    CHECK(whole.exchanged == Approx(cut.exchanged / 2));
    CHECK(whole.parameters == Approx(cut.parameters));
    CHECK(whole.tensor == cut.tensor - 2);
  }
}

// Ranks are numbered TP, CP, DP from the fastest; EP takes neighbours of both CP and DP. With CP 4 x DP 2 it can be 8.
// Catches: experts spread over the ranks of DP alone, so that EP above DP exchanged nothing.
TEST_CASE("experts are spread over the ranks of CP and DP", "[models]") {
  Job job = job_of("mixtral-8x7b", 1, 8192, 8);
  job.cluster.instance = gpu_machine();
  const topology::ChipGraph graph(job.cluster.instance);
  const auto groups = [&](const char* text) {
    return StepLayout(job, strategy_of(job, text), gpu_profile(), graph).groups_of(0);
  };
  CHECK(groups("tp=1,cp=2,ep=4,framework=megatron").expert == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups("tp=1,cp=2,ep=4,framework=megatron").expert_data == Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  // Of whole experts, TP among the ranks of EP: 4 x 2 ranks of a stage.
  CHECK(groups("tp=2,cp=2,ep=4,etp=1,framework=megatron").expert == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups("tp=2,cp=2,ep=4,etp=1,framework=megatron").expert_data ==
        Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}});
  CHECK(groups("tp=2,cp=2,ep=4,framework=megatron").expert.size() == 2);
  CHECK(groups("tp=2,cp=2,ep=4,framework=megatron-bridge").expert == Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
  CHECK(groups("tp=1,cp=4,ep=8,framework=megatron").expert.size() == 1);
  CHECK(groups("tp=1,cp=4,ep=8,framework=megatron").expert_data.empty());
  const StepReport step =
      simulate_step(job, strategy_of(job, "tp=1,cp=4,ep=8,framework=megatron"), gpu_profile());
  CHECK(step.breakdown[static_cast<std::size_t>(Category::expert_parallel)].value > 0);
}

// The host waits for the counts, so that a forward pass takes what is busy before the exchange and then the launches
// of 2 experts; a backward pass hides its launches behind all of its work.
// Catches: launches of experts that hide behind the attention before them, or that one grouped product needs too.
TEST_CASE("launches of single experts start when the host has counted their tokens", "[models]") {
  Job job = job_of("mixtral-8x7b", 1, 4096, 8);
  job.cluster.instance = gpu_machine();
  Profile p = gpu_profile();
  p.value(gpu::host_layer) = {1e-12, 0.1, "made up"};
  const auto launches = [&](const char* text) {
    const Strategy s = strategy_of(job, text);
    const LayerModel layer(job, s, p);
    std::pair<double, double> host;
    for (const Operator& o : layer.layer_forward()) host.first += o.host.value;
    for (const Operator& o : layer.layer_backward()) host.second += o.host.value;
    return host;
  };
  const auto step = [&](double each) {
    p.value(gpu::host_expert) = {each, 0.1, "made up"};
    return simulate_step(job, strategy_of(job, "tp=1,ep=4,framework=megatron"), p).step.value;
  };
  p.value(gpu::host_expert) = {0.5, 0.1, "made up"};
  CHECK(launches("tp=1,ep=4,framework=megatron").first == Approx(1));
  CHECK(launches("tp=1,ep=4,framework=megatron").second == Approx(1));
  CHECK(launches("tp=1,ep=4,framework=fsdp").first == Approx(0).margin(1e-9));
  // 32 layers, one micro-batch: the work behind the counts is hidden by a second of launches, that before is not.
  const double none = step(1e-30), slow = step(0.5), slower = step(1);
  CHECK(slower - slow == Approx(64).epsilon(1e-3));
  CHECK(slow > 64);
  CHECK(slow < 64 + none);
}

// Ranks of a ring over two nodes wait 40 us in each of its 15 steps, an all-reduce does not.
TEST_CASE("each step of a ring that leaves the node waits for the network", "[models][collective]") {
  Profile waiting = gpu_profile();
  waiting.value(switched::ring_wait) = {4e-5, 0.1, "made up"};
  const auto seconds = [](const Profile& p, CollectiveOp op, int nodes) {
    const topology::Cluster cluster{gpu_machine(), nodes};
    const topology::ChipGraph graph(cluster.instance);
    const topology::Placement placement = topology::Placement::flat(cluster);
    const Fabric fabric(cluster, graph, placement, p);
    std::vector<int> group;
    for (int i = 0; i < cluster.cores(); ++i) group.push_back(i);
    return collective(fabric, op, {group}, Bytes(1e9)).seconds(fabric).value;
  };
  const auto more = [&](CollectiveOp op, int nodes) {
    return seconds(waiting, op, nodes) - seconds(gpu_profile(), op, nodes);
  };
  CHECK(more(CollectiveOp::all_gather, 2) == Approx(15 * 4e-5));
  CHECK(std::abs(more(CollectiveOp::all_gather, 1)) < 1e-12);
  CHECK(std::abs(more(CollectiveOp::all_reduce, 2)) < 1e-12);
}

TEST_CASE("factors of a framework and a cluster reach no other job", "[models]") {
  Profile p = gpu_profile();
  Factors framework, cluster;
  framework.framework = "nanotron";
  framework.values = {{gpu::host_layer, {2e-3, 0.1, "made up"}}};
  cluster.cluster = "eight-gpus";
  cluster.values = {{switched::network_share, {0.8, 0.1, "made up"}}};
  p.factors = std::make_shared<const std::vector<Factors>>(std::vector<Factors>{framework, cluster});
  Job job = short_gpu_job(4, 8);
  job.software.framework = "nanotron";
  CHECK(with_factors(p, job)[gpu::host_layer] == 2e-3);
  CHECK(with_factors(p, job)[switched::network_share] == 0.8);
  Job other = job;
  other.software.framework = "megatron-deepspeed";
  other.cluster.instance.name = "another";
  CHECK(with_factors(p, other)[gpu::host_layer] == p[gpu::host_layer]);
  CHECK(with_factors(p, other)[switched::network_share] == 0.5);
}

// Catches: a library of attention that a loop does not get, or gets in place of its own factors.
TEST_CASE("a library of attention has one speed in every loop that runs it", "[models]") {
  const Profile p = test_catalog().profile("h100");
  Job job = short_gpu_job(1, 8);
  const auto with = [&](const char* stack, Parameter parameter) {
    job.software.framework = stack;
    return with_factors(p, job)[parameter];
  };
  const double second = with("nanotron", gpu::attention_share);
  for (const char* stack : {"fsdp", "torchtitan", "fsdp-eager"})
    CHECK(with(stack, gpu::attention_share) == second);
  CHECK(with("fsdp1", gpu::attention_share) < second);
  CHECK(with("megatron", gpu::attention_share) > second);
  CHECK(with("megatron", gpu::attention_share) == with("megatron-bridge", gpu::attention_share));
  CHECK(with("nanotron", gpu::host_layer) > with("fsdp", gpu::host_layer));
}

// Catches: scales of FP8 that tie no ranks together, and ranks that meet once a step and wait as if in each
// pass. 16 ranks of 1 sequence and 32 micro-batches: the slowest of 16 is Phi^-1(15.625 / 16.25) = 1.769 sds
// slow; what differs from pass to pass averages out over 64 of them.
TEST_CASE("ranks that meet in each pass wait for the slowest of them", "[models]") {
  Profile spread = gpu_profile();
  spread.value(gpu::pass_spread) = {0.02, 0.1, "made up"};
  const Job job = short_gpu_job(2, 16 * 32);
  const auto waits = [&](const char* text) {
    const Strategy s = strategy_of(job, text);
    const double share = LayerModel(job, s, spread).waits();
    const OperatorList forward = LayerModel(job, s, spread).layer_forward();
    CHECK(std::count_if(forward.begin(), forward.end(), [](const Operator& o) { return o.waits > 0; }) == 1);
    return share;
  };
  const double slowest = 0.02 * slowest_of(16);
  CHECK(slowest == Approx(0.02 * 1.769).epsilon(1e-3));
  CHECK(waits("dp=16,framework=megatron") == Approx(slowest / 8));
  CHECK(waits("dp=16,framework=megatron,precision=fp8") == Approx(slowest));
  CHECK(waits("dp=16,framework=fsdp") == Approx(slowest));
  // The step is as much longer, but for its ends and the head.
  const auto step = [&](const Profile& p) {
    return simulate_step(job, strategy_of(job, "dp=16,framework=megatron,precision=fp8"), p).step.value;
  };
  const double longer = step(spread) / step(gpu_profile()) - 1;
  CHECK(longer > 0.6 * slowest);
  CHECK(longer <= slowest);
}
