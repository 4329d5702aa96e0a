#include "models/step/step.h"
#include "models/collective/neuron_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "models/framework/loop_parameters.h"
#include "models/step/step_bound.h"

#include <cmath>
#include <numeric>
#include <stdexcept>

#include "logs/table/measured_runs.h"
#include "models/collective/collective.h"
#include "models/memory/memory.h"
#include "tests/catch.h"
#include "tests/models/setup.h"
#include "text/document.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

double sum(const CategorySeconds& parts) {
  return std::accumulate(parts.begin(), parts.end(), Seconds{}).value;
}

Seconds at(const StepReport& r, Category c) {
  return r.breakdown[static_cast<std::size_t>(c)];
}

/// Only computing takes time: launches, overheads and latencies zero, links and NICs fast beyond measure.
Profile compute_only() {
  Profile p = datasheet();
  for (const Parameter x :
       {neuron::in_graph_alpha, neuron::hop_latency, neuron::efa_latency, neuron::layer_overhead,
        loop::graph_launch, loop::task_launch, loop::bucket_overhead, common::step_overhead}) {
    p.value(x).median = 0;
  }
  for (const Parameter x :
       {neuron::link_fraction, neuron::dma_fraction, neuron::hbm_fraction, neuron::efa_fraction})
    p.value(x).median = 1e9;
  p.value(common::node_spread).median = 1e-30;  // nodes of one pace
  return p;
}

/// Seconds of the published rows of one layout: model, nodes, TP, PP, DP, sequence, global batch; precision
/// with an fp32 optimizer, quality A or B.
std::vector<double> measured(const std::string& model, int nodes, int tp, int pp, int dp, int sequence,
                             int batch) {
  const std::string path = TRNPLAN_SOURCE_DIR "/catalog/measured-runs.csv";
  std::vector<double> seconds;
  for (const MeasuredRun& run : logs::parse_measured_runs(read_text(path), path)) {
    const Strategy& s = run.strategy;
    if (run.kind == "train" && (run.quality == "A" || run.quality == "B") && run.model == model &&
        run.nodes == nodes && s.tensor_parallel == tp && s.pipeline_parallel == pp && s.data_parallel == dp &&
        run.sequence == sequence && run.global_batch == batch && s.zero1 && run.step_seconds) {
      seconds.push_back(*run.step_seconds);
    }
  }
  return seconds;
}

}  // namespace

TEST_CASE("one matmul by hand", "[models]") {
  // QKV of Llama-3 8B at TP 32, 8192 tokens: K = 4096, N = 4096/32 + 2*8*4*128/32 = 384. 32 x 3 tiles of 8192
  // columns are 786,432 cycles at 2.8 GHz * 0.65 = 0.432 ms.
  const Job job = job_of("llama3-8b", 1, 8192, 1024);
  const Strategy s = strategy_of(job, "tp=32");
  const Profile p = datasheet();
  for (const Operator& o : LayerModel(job, s, p).layer_forward()) {
    if (o.name != "qkv") continue;
    CHECK(std::abs(o.seconds.value - 786432 / (2.8e9 * 0.65)) < 1e-12);
    CHECK(o.flops.value == 2.0 * 8192 * 4096 * 384);
    return;
  }
  FAIL("no operator named qkv");
}

// Per layer forward 2 all-gathers and 2 reduce-scatters, backward 4 and 2; LlamaMLP adds a gather, full the
// forward's less one scatter; without SP two all-reduces each way. KV heads are replicated: one more
// all-reduce backward.
TEST_CASE("collectives of a layer", "[models]") {
  struct Case {
    const char* strategy;
    int gathers, scatters, reduces;  // forward and backward together; nothing reads a recomputed down product
  };
  const auto c = GENERATE(values<Case>({{"tp=8", 6, 4, 0},
                                        {"tp=8,recompute=LlamaMLP", 7, 4, 0},
                                        {"tp=8,recompute=full", 8, 5, 0},
                                        {"tp=8,sp=false", 0, 0, 4},
                                        {"tp=32", 6, 4, 1},
                                        {"tp=1", 0, 0, 0}}));
  CAPTURE(c.strategy);
  const Job job = job_of("llama3-8b", 1, 8192, 1024);
  const Strategy s = strategy_of(job, c.strategy);
  const Profile p = datasheet();
  const LayerModel model(job, s, p);
  int gathers = 0, scatters = 0, reduces = 0;
  for (const OperatorList& list : {model.layer_forward(), model.layer_backward()}) {
    for (const Operator& o : list) {
      if (o.process_group == ProcessGroup::none) continue;
      gathers += o.op == CollectiveOp::all_gather;
      scatters += o.op == CollectiveOp::reduce_scatter;
      reduces += o.op == CollectiveOp::all_reduce;
    }
  }
  CHECK(gathers == c.gathers);
  CHECK(scatters == c.scatters);
  CHECK(reduces == c.reduces);
}

// Equal stages, free communication: the bubble is (p-1)/m of the work (Narayanan et al. 2021, section 2.2.1).
TEST_CASE("the bubble of 1F1B is measured, and is (p-1)/m", "[models]") {
  for (const int stages : {2, 4, 8}) {
    for (const int batch : {8, 64}) {
      CAPTURE(stages, batch);
      Job job = job_of("llama3-8b", 1, 8192, batch);
      // So many layers that embedding and head weigh next to nothing: stages are equal.
      job.architecture.vocabulary = 32;
      job.architecture.layers = 1024;
      job.cluster.nodes = stages;
      const Strategy s = strategy_of(job, "tp=32,pp=" + std::to_string(stages));
      const StepReport r = simulate_step(job, s, compute_only());
      const double bubble = at(r, Category::bubble).value, work = at(r, Category::compute).value;
      CHECK(bubble / work == Approx((stages - 1.0) / batch).epsilon(1e-3));
    }
  }
}

TEST_CASE("the breakdown adds up and the bound holds", "[models]") {
  for (const char* text : {"tp=32", "tp=8", "tp=8,pp=4", "tp=8,pp=2", "tp=2,pp=4", "tp=16,pp=2", "tp=4",
                           "tp=8,sp=false", "tp=8,zero1=false", "tp=8,mbs=4,recompute=full"}) {
    CAPTURE(text);
    const Job job = job_of("llama3-8b", 1, 8192, 64);
    const Strategy s = strategy_of(job, text);
    const StepModel model(job, s, datasheet(), topology::ChipGraph(job.cluster.instance));
    const StepReport r = model.simulate();
    CHECK(std::abs(sum(r.breakdown) - r.step.value) < 1e-9 * r.step.value);
    CHECK(model.lower_bound() <= r.step);
    CHECK(to_seconds(ComputeBounds(job, datasheet()).busiest_stage(s, micro_batches(job.training, s))) <=
          model.lower_bound());
    CHECK(r.low < r.step);
    CHECK(r.step < r.high);
  }
}

// Four stages of two chips each, joined so that the way from stage 0 to stage 1 leads over the link inside
// stage 2:
//   0-1 4-5 2-3 6-7 in a row. Layers must then run inside the step, where the engine shares that link out.
TEST_CASE("layers are expanded when another stage's transfers use their links", "[models]") {
  Job job = job_of("llama3-8b", 1, 2048, 8);
  topology::Instance& i = job.cluster.instance;
  i.traits.rank_order = topology::RankOrderRule::row_major;
  i.traits.flat_ring = false;
  i.chips = 8;
  i.links = {{0, 1}, {1, 4}, {4, 5}, {5, 2}, {2, 3}, {3, 6}, {6, 7}};
  i.nic_of_chip.resize(8);
  const Strategy s = strategy_of(job, "tp=4,pp=4");
  const StepModel model(job, s, datasheet(), topology::ChipGraph(i));
  const StepReport report = model.simulate();
  CHECK(report.expanded);
  CHECK(model.lower_bound() <= report.step);
  CHECK(std::abs(sum(report.breakdown) - report.step.value) < 1e-9 * report.step.value);

  Job torus = job_of("llama3-8b", 1, 2048, 8);
  CHECK_FALSE(simulate_step(torus, strategy_of(torus, "tp=8,pp=4"), datasheet()).expanded);
}

TEST_CASE("what cannot be simulated is refused", "[models]") {
  Job tiny = job_of("llama3-8b", 1, 8192, 64);
  tiny.training.global_batch = 1;
  CHECK_THROWS_AS(simulate_step(tiny, strategy_of(tiny, "tp=8"), datasheet()), std::invalid_argument);
  // Interleaved with 6 micro-batches on 4 stages.
  const Job odd = job_of("llama3-8b", 1, 8192, 6);
  CHECK_THROWS_AS(simulate_step(odd, strategy_of(odd, "tp=8,pp=4,vpp=2"), datasheet()),
                  std::invalid_argument);
}

// One request in flight: the host's launch of each graph adds to the graph's own time. TP 8, PP 4, 64
// micro-batches: each is six graphs for an inner stage (two passes, four messages), and the pipeline fills
// and drains over the others.
TEST_CASE("launches are hidden from two requests in flight on", "[models]") {
  Job job = job_of("llama3-8b", 1, 8192, 64);
  const Strategy s = strategy_of(job, "tp=8,pp=4");
  const double hidden = simulate_step(job, s, datasheet()).step.value;
  job.software.in_flight = 3;
  CHECK(simulate_step(job, s, datasheet()).step.value == hidden);
  job.software.in_flight = 1;
  const StepReport r = simulate_step(job, s, datasheet());
  const double launch = datasheet()[common::host_launch];
  CHECK(r.step.value - hidden > 64 * 4 * launch);  // the last stage's: two passes, two messages
  CHECK(r.step.value - hidden < (64 + 3) * 6 * launch);
  const topology::ChipGraph graph(job.cluster.instance);
  const Profile profile = datasheet();
  CHECK(to_seconds(StepBounds(job, profile, graph).without_contention(s, 64)).value ==
        Approx(r.step.value).epsilon(1e-8));
}

// Interleaved, equal chunks, free communication: (p-1)/(m v) of the work (Narayanan et al. 2021,
// section 2.2.2), also with m = p, where all forwards come first. So many layers that embedding and head are
// less than 6 thousandths of a bubble.
TEST_CASE("the bubble of the interleaved schedule is (p-1)/(m v)", "[once][models]") {
  const auto bubbling = [](int nodes, int batch) {
    Job job = job_of("llama3-8b", nodes, 8192, batch);
    job.architecture.vocabulary = 32;
    job.architecture.layers = 2048;
    return job;
  };
  struct Case {
    int batch, stages, chunks;
  };
  for (const auto& [batch, stages, chunks] : {Case{8, 8, 2}, Case{8, 2, 4}, Case{32, 4, 4}}) {
    CAPTURE(stages, chunks, batch);
    // The work of a stage, from all of it on one node: the critical path changes between stages that end alike.
    const Job alone = bubbling(1, batch);
    const StepReport whole = simulate_step(alone, strategy_of(alone, "tp=32"), compute_only());
    const Job job = bubbling(stages, batch);
    const Strategy s =
        strategy_of(job, "tp=32,pp=" + std::to_string(stages) + ",vpp=" + std::to_string(chunks));
    const StepModel model(job, s, compute_only(), topology::ChipGraph(job.cluster.instance));
    const StepReport r = model.simulate();
    const double work = at(whole, Category::compute).value / stages;
    CHECK((r.step.value - work) / work == Approx((stages - 1.0) / (batch * chunks)).epsilon(7e-3));
    CHECK(model.lower_bound() <= r.step);
  }
}

// Zero bubble: the gradients of the weights (a third of the compute-bound work) fill what 1F1B leaves idle.
TEST_CASE("zero bubble fills most of the bubble", "[once][models]") {
  Job job = job_of("llama3-8b", 4, 8192, 32);
  job.architecture.vocabulary = 32;
  job.architecture.layers = 1024;
  const Strategy s = strategy_of(job, "tp=32,pp=4");
  const topology::ChipGraph graph(job.cluster.instance);
  Strategy in_two = s;
  in_two.schedule = Schedule::zero_bubble;
  const StepModel plain(job, s, compute_only(), graph), split(job, in_two, compute_only(), graph);
  const double work = at(plain.simulate(), Category::compute).value;
  const double bubble = plain.simulate().step.value - work, left = split.simulate().step.value - work;
  CHECK(left > 0);
  CHECK(left < 0.6 * bubble);
  CHECK(split.lower_bound() <= split.simulate().step);
}

// GPipe, equal stages, free communication: idle for (p-1)/(m+p-1) of the step (Huang et al. 2019, section
// 2.3), as 1F1B is; but every micro-batch is alive, and what is alive follows the passes.
TEST_CASE("GPipe takes as long as 1F1B and keeps every micro-batch alive", "[models]") {
  for (const int stages : {2, 4}) {
    for (const int batch : {8, 24}) {
      CAPTURE(stages, batch);
      Job job = job_of("llama3-8b", stages, 8192, batch);
      job.architecture.vocabulary = 32;
      job.architecture.layers = 1024;
      const std::string text = "tp=32,pp=" + std::to_string(stages);
      const Strategy s = strategy_of(job, text + ",schedule=gpipe");
      const topology::ChipGraph graph(job.cluster.instance);
      const StepModel model(job, s, compute_only(), graph);
      const StepReport r = model.simulate();
      CHECK(at(r, Category::bubble).value / r.step.value ==
            Approx((stages - 1.0) / (batch + stages - 1.0)).epsilon(2e-3));
      CHECK(r.step.value ==
            Approx(simulate_step(job, strategy_of(job, text), compute_only()).step.value).epsilon(1e-6));
      CHECK(model.lower_bound() <= r.step);
      for (const StageMemory& m : memory_of(job, s, datasheet()).stages) CHECK(m.in_flight == batch);
    }
  }
}

// The data-sheet profile against published steps. Nothing was fitted to these rows; the tolerances are those
// the profile is documented with (README, "How far off").
TEST_CASE("predictions from data sheets against published steps", "[models][accuracy]") {
  struct Case {
    const char *catalogue, *published;
    int nodes, tp, pp, dp, sequence, batch;
    const char* strategy;
    double tolerance;
  };
  const auto c = GENERATE(values<Case>({
      {"llama3-8b", "Llama3-8B", 1, 32, 1, 1, 8192, 1024, "tp=32", 0.25},
      {"llama3-70b", "Llama3-70B", 16, 32, 8, 2, 8192, 1024, "tp=32,pp=8,recompute=CoreAttention+LlamaMLP",
       0.40},
      {"llama2-7b", "Llama2-7B", 16, 8, 1, 64, 4096, 1024, "tp=8,recompute=CoreAttention", 0.40},
  }));
  const auto rows = measured(c.published, c.nodes, c.tp, c.pp, c.dp, c.sequence, c.batch);
  REQUIRE_FALSE(rows.empty());
  const Job job = job_of(c.catalogue, c.nodes, c.sequence, c.batch);
  const double predicted = simulate_step(job, strategy_of(job, c.strategy), datasheet()).step.value;
  const double mean = std::accumulate(rows.begin(), rows.end(), 0.0) / static_cast<double>(rows.size());
  CAPTURE(c.catalogue, predicted, mean);
  CHECK(std::abs(predicted / mean - 1) < c.tolerance);
}

namespace {

/// The same machine and parameters with one resource `factor` times as fast, or as long.
StepReport with(Job job, const std::string& strategy, Resource r, double factor) {
  Profile profile = datasheet();
  topology::Instance& i = job.cluster.instance;
  const auto longer = [&](std::initializer_list<Parameter> parameters) {
    for (const Parameter p : parameters) profile.value(p).median *= factor;
  };
  switch (r) {
    case Resource::tensor:
      i.core.tensor_hertz *= factor;
      break;
    case Resource::vector:
      i.core.vector_hertz *= factor;
      break;
    case Resource::hbm:
      i.core.hbm = i.core.hbm * factor;
      break;
    case Resource::dma:
      i.core.dma = i.core.dma * factor;
      break;
    case Resource::link:
      i.link_per_direction = i.link_per_direction * factor;
      for (topology::Link& link : i.links) link.per_direction = link.per_direction * factor;
      break;
    case Resource::efa:
      i.nic = i.nic * factor;
      break;
    case Resource::latency:
      longer({neuron::in_graph_alpha, neuron::hop_latency, neuron::efa_latency});
      break;
    default:
      longer({neuron::layer_overhead, loop::graph_launch, loop::task_launch, loop::bucket_overhead,
              common::step_overhead});
  }
  return simulate_step(job, strategy_of(job, strategy), profile);
}

}  // namespace

// d log step / d log rate by central differences of half a per cent.
TEST_CASE("elasticities are what a faster part of the machine buys", "[once][models]") {
  struct Case {
    const char *model, *strategy;
    int nodes, batch;
  };
  const auto c = GENERATE(values<Case>({{"llama3-8b", "tp=8", 1, 64},
                                        {"llama3-8b", "tp=32", 1, 64},
                                        {"llama3-8b", "tp=8,pp=4", 1, 64},
                                        {"llama3-8b", "tp=32,pp=4", 4, 32},
                                        {"llama3-8b", "tp=8,zero1=true", 16, 256},
                                        {"llama3-8b", "tp=32,sp=false,zero1=false", 4, 64},
                                        {"llama3-8b", "tp=8,pp=4,vpp=2", 1, 64},
                                        {"llama3-8b", "tp=8,pp=2,vpp=4", 1, 64},
                                        {"llama3-8b", "tp=32,pp=4,vpp=2", 4, 32},
                                        {"llama3-8b", "tp=8,cp=4", 1, 16},
                                        {"llama3-8b", "tp=16,cp=2", 1, 16},
                                        {"llama3-8b", "tp=32,cp=4", 8, 16},
                                        {"llama3-8b", "tp=8,cp=2,pp=2", 1, 16}}));
  CAPTURE(c.strategy, c.nodes);
  const Job job = job_of(c.model, c.nodes, 8192, c.batch);
  const StepReport base = simulate_step(job, strategy_of(job, c.strategy), datasheet());
  double largest = 0, sum = 0;
  std::vector<std::pair<double, double>> pairs;
  for (std::size_t i = 0; i < static_cast<std::size_t>(Resource::count); ++i) {
    const auto r = static_cast<Resource>(i);
    const double up = with(job, c.strategy, r, 1.005).step.value,
                 down = with(job, c.strategy, r, 0.995).step.value;
    pairs.emplace_back(base.elasticity(r), std::log(up / down) / std::log(1.005 / 0.995));
    largest = std::max(largest, std::abs(pairs.back().first));
    sum += std::abs(pairs.back().first);
  }
  CHECK(sum == Approx(1).epsilon(0).margin(1e-9));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    CAPTURE(to_string(static_cast<Resource>(i)));
    CHECK(std::abs(pairs[i].first - pairs[i].second) < 0.01 * largest);
  }
}
