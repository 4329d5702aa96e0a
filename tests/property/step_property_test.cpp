// Properties that need no expected number, on random small jobs. Every failure prints the seed.
#include <cmath>
#include <map>

#include "models/collective/collective.h"
#include "models/collective/neuron_parameters.h"
#include "models/device/neuron_core_parameters.h"
#include "models/framework/loop_parameters.h"
#include "models/step/step.h"
#include "models/step/step_bound.h"
#include "models/step/step_parts.h"
#include "planner/check/rules.h"
#include "tests/catch.h"
#include "tests/property/sample.h"
#include "tests/seeds.h"
#include "topology/rank_order.h"
#include "topology/verdict.h"

using namespace trnplan;
using namespace trnplan::models;

namespace {

/// Two groups of a stage that run the same collective at the same time use a common link: measured, by
/// the loads of each group alone on the flat fabric.
bool shares_links(const StepModel& model) {
  const StepParts& p = model.parts();
  const topology::Placement flat = topology::Placement::flat(p.job.cluster);
  const Fabric fabric(p.job.cluster, p.graph, flat, p.profile);
  for (int stage = 0; stage < p.stages; ++stage) {
    const StageGroups groups = p.groups_of(stage);
    for (const ProcessGroup process_group :
         {ProcessGroup::tensor, ProcessGroup::kv_replicas, ProcessGroup::context, ProcessGroup::data}) {
      if (process_group == ProcessGroup::kv_replicas && p.strategy.kv_replicator == 1) continue;
      const CollectiveOp op =
          process_group == ProcessGroup::context ? CollectiveOp::permute : CollectiveOp::reduce_scatter;
      std::map<Fabric::Id, std::size_t> user;
      const Groups& own = groups.of(process_group);
      for (std::size_t g = 0; g < own.size(); ++g) {
        for (const Phase& phase : collective(fabric, op, {own[g]}, Bytes(64 << 20)).phases) {
          for (const auto& [id, bytes] : phase.load) {
            if (fabric.kind(id) != Fabric::Kind::link) continue;
            if (user.try_emplace(id, g).first->second != g) return true;
          }
        }
      }
    }
  }
  return false;
}

/// True if every group of a kind loads the machine equally. If the pairs of the pipeline do not (two hops
/// apart), messages that overlap the work of interleaved stages end one by one; one lane per stage makes them
/// end together.
bool is_even(const Sample& s) {
  if (s.strategy.virtual_pipeline == 1) return true;
  const Strategy& x = s.strategy;
  const topology::RankOrder order(
      s.job.cluster, {x.tensor_parallel, x.context_parallel, x.data_parallel, x.pipeline_parallel});
  const topology::ChipGraph graph(s.job.cluster.instance);
  return topology::judge_worst(s.job.cluster, graph, order, x.kv_replicator).overall ==
         topology::Verdict::supported;
}

Profile scaled(Parameter p, double factor) {
  Profile profile = datasheet();
  profile.value(p).median *= factor;
  return profile;
}

}  // namespace

TEST_CASE("a lane per stage and a lane per core agree to the tick, remembered or expanded", "[property]") {
  int exact = 0, interleaved = 0, context = 0, sharing = 0, expanded = 0;
  for (const unsigned seed : seeds(1, 400)) {
    const Sample sample = random_sample(seed);
    CAPTURE(seed, describe(sample.strategy), sample.strategy.virtual_pipeline,
            sample.strategy.context_parallel, sample.job.cluster.nodes, sample.job.architecture.layers);
    const StepModel model(sample.job, sample.strategy, datasheet(),
                          topology::ChipGraph(sample.job.cluster.instance));
    const StepReport memoised = model.simulate(), flat = model.simulate({.flat = true});
    expanded += memoised.expanded;
    if (is_even(sample)) {
      CHECK(memoised.step.value == flat.step.value);
      ++exact;
      interleaved += sample.strategy.virtual_pipeline > 1;
      context += sample.strategy.context_parallel > 1;
      sharing += shares_links(model);
    } else {
      CHECK(memoised.step.value == Approx(flat.step.value).epsilon(1e-4));
    }
    CHECK(flat.tasks >= memoised.tasks);
    if (seed % 3 == 0) CHECK(model.simulate({.expand = true}).step.value == memoised.step.value);
  }
  CAPTURE(exact, interleaved, context, sharing, expanded);
  CHECK(exact >= at_least(330));
  CHECK(interleaved >= at_least(40));
  CHECK(context >= at_least(60));
  CHECK(3 * sharing >= exact);
  CHECK(expanded >= at_least(60));
}

TEST_CASE("the bound is never above the simulated time, and the same job takes the same time", "[property]") {
  const unsigned seed = GENERATE(from_range(seeds(200, 120)));
  const Sample sample = random_sample(seed);
  CAPTURE(seed, describe(sample.strategy));
  const StepModel model(sample.job, sample.strategy, datasheet(),
                        topology::ChipGraph(sample.job.cluster.instance));
  const StepReport first = model.simulate(), second = model.simulate();
  CHECK(model.lower_bound() <= first.step);
  CHECK(
      to_seconds(ComputeBounds(sample.job, datasheet())
                     .busiest_stage(sample.strategy, micro_batches(sample.job.training, sample.strategy))) <=
      model.lower_bound());
  CHECK(first.step.value == second.step.value);
  CHECK(first.breakdown == second.breakdown);
}

TEST_CASE("a better machine is never slower", "[property]") {
  const unsigned seed = GENERATE(from_range(seeds(400, 40)));
  const Sample sample = random_sample(seed);
  CAPTURE(seed, describe(sample.strategy));
  const double base = simulate_step(sample.job, sample.strategy, datasheet()).step.value;
  for (const Parameter p : {neuron::matmul_efficiency, neuron::hbm_fraction, neuron::vector_efficiency,
                            neuron::link_fraction, neuron::dma_fraction, neuron::efa_fraction}) {
    CAPTURE(to_string(p));
    CHECK(simulate_step(sample.job, sample.strategy, scaled(p, 1.3)).step.value <= base * (1 + 1e-9));
  }
  for (const Parameter p : {neuron::in_graph_alpha, neuron::hop_latency, loop::task_launch,
                            neuron::layer_overhead, common::step_overhead}) {
    CAPTURE(to_string(p));
    CHECK(simulate_step(sample.job, sample.strategy, scaled(p, 1.3)).step.value >= base * (1 - 1e-9));
  }
}

TEST_CASE("seconds by parameter are the slopes of the step", "[property]") {
  // Where no other task becomes critical, d step / d log parameter is the parameter's seconds on the critical
  // path.
  const auto [text, extra] = GENERATE(
      table<const char*, Parameter>({{"tp=8,recompute=CoreAttention+LlamaMLP", neuron::vector_efficiency},
                                     {"tp=8,precision=fp32,recompute=full", neuron::fp32_slowdown},
                                     {"tp=8,cp=4", common::overlap_slowdown}}));
  const Job job = job_of("llama3-8b", 1, 8192, 64);
  const Strategy s = strategy_of(job, text);
  const StepReport base = simulate_step(job, s, datasheet());
  for (const Parameter p : {neuron::matmul_efficiency, neuron::flash_efficiency, neuron::link_fraction,
                            neuron::layer_overhead, extra}) {
    CAPTURE(to_string(s.precision), to_string(p));
    const bool efficiency =
        p != neuron::layer_overhead && p != neuron::fp32_slowdown && p != common::overlap_slowdown;
    const double share = base.by_parameter[p.place()].value;
    CHECK(share > 0);
    const double up = simulate_step(job, s, scaled(p, 1.001)).step.value;
    const double slope = (up - base.step.value) / std::log(1.001) * (efficiency ? -1 : 1);
    CHECK(std::abs(slope - share) <= 0.01 * share);
  }
}

// Why a search leaves the depth of the runtime's queue alone: one request is never faster, two and more are alike,
// and no memory that is counted depends on it.
TEST_CASE("one request in flight is never faster, and more than two change nothing", "[property]") {
  const unsigned seed = GENERATE(from_range(seeds(1100, 30)));
  const Sample sample = random_sample(seed);
  CAPTURE(seed, describe(sample.strategy));
  const auto with = [&](int requests) {
    Job job = sample.job;
    job.software.in_flight = requests;
    return job;
  };
  const double base = simulate_step(with(2), sample.strategy, datasheet()).step.value;
  for (const int requests : {0, 3, 7}) {
    CHECK(simulate_step(with(requests), sample.strategy, datasheet()).step.value == base);
    CHECK(memory_of(with(requests), sample.strategy, datasheet()).worst().peak() ==
          memory_of(with(1), sample.strategy, datasheet()).worst().peak());
  }
  CHECK(simulate_step(with(1), sample.strategy, datasheet()).step.value >= base);
}

// Why a search leaves them alone: more copies of the KV heads and smaller buckets only add work.
TEST_CASE("more copies of the KV heads and smaller buckets are never faster", "[property]") {
  const unsigned seed = GENERATE(from_range(seeds(1000, 60)));
  const Sample sample = random_sample(seed);
  CAPTURE(seed, describe(sample.strategy));
  const double base = simulate_step(sample.job, sample.strategy, datasheet()).step.value;
  Strategy other = sample.strategy;
  other.bucket_mb = 30;
  CHECK(simulate_step(sample.job, other, datasheet()).step.value >= base * (1 - 1e-9));
  other = sample.strategy;
  other.kv_replicator *= 2;
  if (!planner::rule_violations(sample.job, other).empty()) return;
  CHECK(simulate_step(sample.job, other, datasheet()).step.value >= base * (1 - 1e-9));
}
