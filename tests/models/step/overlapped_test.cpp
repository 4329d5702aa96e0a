// The framework `overlapped`, a second one besides NxD's, through the interface of the step model.
#include <cmath>

#include "models/framework/framework.h"
#include "models/framework/strategy_words.h"
#include "models/memory/memory.h"
#include "models/step/rank_trace.h"
#include "models/step/step.h"
#include "models/step/timeline.h"
#include "models/step/trace_size.h"
#include "tests/catch.h"
#include "tests/models/gpu_machine.h"
#include "tests/models/setup.h"
#include "tests/models/step/small_job.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

Strategy early(Strategy s) {
  s.framework = stated_framework("overlapped");
  return s;
}

/// Time that NxD's step spends on reducing gradients.
double reduction(const StepReport& r) {
  double sum = 0;
  for (const auto& [name, seconds] : r.by_operator) {
    if (name == "gradients" || name == "gradients over context ranks") sum += seconds.value;
  }
  return sum;
}

}  // namespace

TEST_CASE("gradients reduced during the last backward pass shorten a step by no more than their reduction",
          "[models]") {
  struct Case {
    const char* strategy;
    int nodes, batch;
  };
  const auto c = GENERATE(values<Case>({{"tp=8", 1, 16},
                                        {"tp=8", 4, 64},
                                        {"tp=32", 4, 64},
                                        {"tp=8,zero1=false", 2, 64},
                                        {"tp=8,pp=2", 2, 64},
                                        {"tp=8,pp=4,schedule=gpipe", 2, 64},
                                        {"tp=8,pp=2,vpp=2", 2, 64},
                                        {"tp=8,cp=2", 2, 64}}));
  CAPTURE(c.strategy, c.nodes);
  const Job job = small_job(c.nodes, c.batch);
  const Strategy s = strategy_of(job, c.strategy);
  const topology::ChipGraph graph(job.cluster.instance);
  const StepReport nxd = StepModel(job, s, datasheet(), graph).simulate();
  const StepModel model(job, early(s), datasheet(), graph);
  const StepReport overlapped = model.simulate();
  CHECK(reduction(nxd) > 0);
  CHECK(overlapped.step < nxd.step);
  CHECK(overlapped.step.value >= nxd.step.value - reduction(nxd));
  CHECK(model.lower_bound() <= overlapped.step);
  // The forms of a step share only the engine, and agree on this too.
  CHECK(model.simulate({.expand = true}).step == overlapped.step);
  CHECK(model.simulate({.unfolded = true}).step == overlapped.step);
  CHECK(model.simulate({.flat = true}).step == overlapped.step);
}

TEST_CASE("without replicas there is nothing to overlap", "[models]") {
  const Job job = small_job(1, 16);
  for (const char* text : {"tp=32", "tp=8,pp=4"}) {
    const Strategy s = strategy_of(job, text);
    CHECK(simulate_step(job, early(s), datasheet()).step == simulate_step(job, s, datasheet()).step);
  }
}

// Regression: ring attention was put on an engine that a framework without overlap lacks, and its timeline crashed.
TEST_CASE("ring attention on a timeline of every framework", "[models]") {
  Job job = job_of("llama3-8b", 1, 2048, 16);
  job.cluster.instance = gpu_machine();
  job.architecture.layers = 4;
  int drawn = 0, alone = 0;
  for (const std::string_view name : framework_names()) {
    Strategy s = strategy_of(job, "tp=4,cp=2");
    s.framework = stated_framework(name);
    if (!StepModel::not_modelled(job, s).empty()) continue;
    CAPTURE(name);
    const StepModel model(job, s, gpu_profile(), topology::ChipGraph(job.cluster.instance));
    const Timeline t = timeline(model, job, s, gpu_profile());
    CHECK(to_seconds(t.end) == model.simulate().step);
    CHECK(model.simulate({.expand = true}).step == model.simulate().step);
    ++drawn;
    alone += !framework_of(s).overlaps_layers(s);
  }
  CHECK(drawn >= 4);
  CHECK(alone >= 1);
}

TEST_CASE("reductions during a pass are in timelines, traces and memory", "[models]") {
  const Job job = small_job(1, 16);
  const Strategy s = early(strategy_of(job, "tp=8"));
  const StepModel model(job, s, datasheet(), topology::ChipGraph(job.cluster.instance));
  const Timeline t = timeline(model, job, s, datasheet());
  CHECK(to_seconds(t.end) == model.simulate().step);
  int reductions = 0;
  for (const Timeline::Slice& slice : t.slices)
    reductions += t.tracks[slice.track].name == "gradient reductions";
  CHECK(reductions >= job.architecture.layers + 2);

  const RankTracer tracer(model);
  const RankTrace trace = tracer.trace(0);
  int scattered = 0;
  for (const RankTrace::Node& n : trace.nodes)
    scattered += n.op == CollectiveOp::reduce_scatter && n.name == "gradients";
  CHECK(scattered >= job.architecture.layers + 2);
  const TraceSize size = rank_trace_size(model);
  CHECK(static_cast<std::int64_t>(trace.nodes.size()) * tracer.ranks() <=
        size.fixed + size.per_micro_batch * 4);

  const StageMemory plain = memory_of(job, strategy_of(job, "tp=8"), datasheet()).worst();
  CHECK(memory_of(job, s, datasheet()).worst().peak() >= plain.peak());
}

TEST_CASE("frameworks are found by their names alone", "[models]") {
  Strategy s;
  CHECK(framework_of(s).name() == framework_names().front());
  for (const std::string_view name : framework_names()) {
    s.framework = stated_framework(name);
    CHECK(framework_of(s).name() == name);
  }
  CHECK_THROWS_AS(stated_framework("none"), std::invalid_argument);
}
