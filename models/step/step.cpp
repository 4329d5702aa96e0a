#include "models/step/step.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>

#include "models/device/devices.h"
#include "models/step/jitter.h"
#include "models/step/overlapped_time.h"
#include "models/step/pipeline_time.h"
#include "models/step/step_parts.h"
#include "models/step/step_run.h"
#include "models/uncertainty/spread.h"
#include "units/index.h"
#include "units/median.h"
#include "units/normal.h"

namespace trnplan::models {

std::string StepModel::not_modelled(const Job& job, const Strategy& strategy) {
  if (const std::string& untimed = job.architecture.blocks.untimed; !untimed.empty())
    return "a step of this model is not modelled: " + untimed;
  const topology::Core& core = job.cluster.instance.core;
  if (is_fp8(strategy.precision) && !device_of(core).has_fp8(core))
    return "products in FP8 are not modelled on " + job.cluster.instance.name;
  const bool gpu = job.cluster.instance.traits.accelerator == topology::Accelerator::gpu;
  if (gpu && strategy.precision == Precision::fp32 && core.fp32.value <= 0)
    return "products in FP32 are not modelled on " + job.cluster.instance.name + ": their peak is not stated";
  using enum Precision;
  if (const Precision p = strategy.precision; gpu && (p == bf16_sr || p == autocast || p == manual))
    return "precision " + std::string(to_string(p)) + ", one of NxD's, is not modelled on " +
           job.cluster.instance.name;
  const Framework& framework = framework_of(strategy);
  if (gpu && strategy.precision == Precision::fp32 && !framework.knows_fp32())
    return std::string(framework.name()) + " is not modelled in fp32";
  if (strategy.precision == fp8_param_gather && !framework.stores_fp8_weights())
    return "weights that are stored in FP8 alone are not modelled with " + std::string(framework.name());
  if (schedule_of(strategy).splits_backward()) {
    if (framework.reduces_with_backward(strategy))
      return "a reduction of gradients during a split backward pass is not modelled";
    if (!framework.recomputes_once() && framework.recomputed(strategy).any())
      return "recomputation in a split backward pass is not modelled with " + std::string(framework.name());
  }
  if (framework.units(strategy) && strategy.expert_parallel > 1)
    return "experts distributed over ranks whose weights are gathered layer by layer are not modelled";
  if (const int etp = expert_tensor_degree(strategy); etp != 1 && etp != strategy.tensor_parallel)
    return "experts over " + std::to_string(etp) + " ranks, neither 1 nor those of TP " +
           std::to_string(strategy.tensor_parallel) + ", are not modelled";
  if (strategy.recompute.alternate && !framework.recomputed(strategy).alternate)
    return std::string(framework.name()) + " has no recomputation of every second product";
  if (strategy.recompute.every > 1 && framework.recomputed(strategy).every == 1)
    return std::string(framework.name()) + " has no recomputation of only some layers";
  return sharding_problem(framework, strategy);
}

StepModel::StepModel(const Job& job, const Strategy& strategy, const Profile& profile,
                     const topology::ChipGraph& graph, CollectiveMemory* memory) {
  const std::string missing = not_modelled(job, strategy);
  if (!missing.empty()) throw std::invalid_argument(missing);
  const int m = models::micro_batches(job.training, strategy);
  if (m < 1) {
    throw std::invalid_argument(
        "the global batch is smaller than one micro-batch on every data-parallel rank");
  }
  if (strategy.virtual_pipeline > 1 && strategy.pipeline_parallel == 1)
    throw std::invalid_argument("virtual stages need PP > 1; see canonical()");
  const std::string obstacle = schedule_of(strategy).obstacle(shape_of(strategy, m));
  if (!obstacle.empty()) throw std::invalid_argument(obstacle);
  parts_ = std::make_unique<const StepParts>(job, strategy, profile, graph, memory);
}

StepModel::~StepModel() = default;
StepModel::StepModel(StepModel&&) noexcept = default;
StepModel& StepModel::operator=(StepModel&&) noexcept = default;

namespace {

/// The parts of a pass, each with its collective of those that overlap it.
std::vector<PartTime> parts_of(const Pass& pass, const BesidePass& overlapped) {
  std::vector<PartTime> parts;
  for (const Chain& c : pass.chains)
    parts.push_back({c.run->length, uncontended(overlapped.of(c.part)), c.times});
  return parts;
}

/// Time of the messages that occupy a stage's queue for each micro-batch and part.
SimTime messages_of(const StepParts& p, int part) {
  SimTime t;
  for (const int below : {part - 1, part}) {
    const auto link = link_above(p.strategy, below);
    if (!link || p.blocking() || p.sends_beside_work()) continue;
    const int b = link->boundary;
    t += p.message_launch.length * 2 + p.hold(b, true).length + p.hold(b, false).length;
  }
  return t;
}

StageCost cost_of(const StepParts& p, int stage) {
  const StageWork& w = p.work(stage);
  StageCost cost;
  std::vector<ChunkTime> times;
  for (int c = 0; c < p.chunks(); ++c) {
    const Chunk& chunk = w.chunks[at(c)];
    const SimTime up = chunk.forward.whole.length, down = chunk.backward.whole.length;
    const SimTime messages = messages_of(p, p.part_of(stage, c));
    cost.each += up + down + chunk.weights.whole.length + messages;
    const SimTime launch = chunk.backward.launch ? chunk.backward.launch->length : SimTime{};
    times.push_back({up + messages, down + messages, launch, parts_of(chunk.backward, w.early)});
    if (c > 0) continue;
    cost.up = up;
    cost.down = down;
    if (!p.gathers_ahead()) continue;
    const FirstForward forward = first_forward(
        chunk.forward.launch ? chunk.forward.launch->length : SimTime{}, parts_of(chunk.forward, w.ahead));
    cost.ready = forward.ready;
    cost.waits = forward.length - up;
  }
  cost.reduce = uncontended(w.gradients_to_norms) + uncontended(w.context_reduce) + uncontended(w.reduce);
  cost.tail = w.optimizer.uncontended() + uncontended(w.gather) + w.end.uncontended();
  if (p.reduces_early()) {
    const LateReductions late =
        late_reductions(times, passes_after_last(p.schedule(), stage, shape_of(p.strategy, p.micro_batches)));
    cost.reduce = std::max(cost.reduce, late.stage);
    cost.backlog = late.queue;
  }
  return cost;
}

}  // namespace

Seconds StepModel::lower_bound() const {
  const StepParts& p = *parts_;
  StepCosts costs;
  costs.barrier = p.barrier.uncontended();
  costs.micro_batches = p.micro_batches;
  for (int i = 0; i < p.stages; ++i) costs.stages.push_back(cost_of(p, i));
  for (int i = 0; i + 1 < p.stages; ++i) {
    const Boundary& b = p.boundaries[at(i)];
    costs.boundaries.push_back({uncontended(*b.activation), uncontended(*b.gradient)});
  }
  return to_seconds(step_bound(costs, p.blocking(), p.schedule().drains()));
}

namespace {

/// Fills the report from the critical path. `pace` is the logarithm of the slowest node's time over the
/// median node's.
void charge_report(StepReport& report, const Attribution& path, double pace) {
  for (std::size_t i = 0; i < kCategories; ++i) report.breakdown[i] = to_seconds(SimTime{path.category[i]});
  for (std::size_t i = 0; i < kParameters; ++i) {
    report.exclusive[i] = to_seconds(SimTime{path.parameter[i]});
    report.by_parameter[i] = to_seconds(SimTime{path.parameter[i]} + SimTime{path.also[i]});
  }
  // The whole step scales with the pace of the slowest node: t exp(s z) grows by t s z for each unit of log
  // s.
  report.by_parameter[common::node_spread.place()] = report.step * pace;
  for (const OperatorTicks& o : path.operators) {
    report.by_operator.emplace_back(std::string(o.name), to_seconds(o.time));
  }
  std::stable_sort(report.by_operator.begin(), report.by_operator.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
}

}  // namespace

StepRuns StepModel::simulate_runs(const Scenario& scenario) const {
  const StepParts& p = *parts_;
  const std::unique_ptr<Layout> layout = lane_per_class(p, scenario);
  std::vector<std::pair<SimTime, int>> ends;
  for (int run = 0; run < scenario.random.runs; ++run) {
    Jitter jitter(scenario.random, run, p.strategy);
    ends.emplace_back(run_unfolded(p, *layout, layout->detail(), false, &jitter).end(), run);
  }
  std::sort(ends.begin(), ends.end());
  const int median = percentile(ends, 0.5).second;
  return {simulate({.scenario = scenario, .run = median}),
          {scenario.random.runs, scenario.random.seed, median, to_seconds(percentile(ends, 0.05).first),
           to_seconds(percentile(ends, 0.95).first)}};
}

bool StepModel::has_whole_passes(const Scenario& scenario) const {
  return lane_per_class(*parts_, scenario)->passes_are_whole();
}

StepReport StepModel::simulate(StepOptions options) const {
  const StepParts& p = *parts_;
  StepReport report;
  const bool ideal = options.scenario.is_ideal();
  const std::unique_ptr<Layout> layout = options.flat ? lane_per_core(p, options.scenario)
                                         : ideal      ? lane_per_stage(p)
                                                      : lane_per_class(p, options.scenario);
  const Detail detail = options.expand ? Detail::operators : layout->detail();
  report.expanded = detail != Detail::passes;
  std::optional<Jitter> jitter;
  if (options.scenario.is_random()) jitter.emplace(options.scenario.random, options.run, p.strategy);
  const StepTimes times = jitter                             ? time_unfolded(p, *layout, detail, &*jitter)
                          : options.unfolded || options.flat ? time_unfolded(p, *layout, detail)
                                                             : time_folded(p, *layout, detail);
  report.folded = times.folded;
  report.extrapolated = times.extrapolated;
  report.schema = p.profile.schema;
  report.step = to_seconds(times.end);
  report.tasks = static_cast<std::size_t>(times.tasks);
  report.events = static_cast<std::uint64_t>(times.events);
  charge_report(report, times.path, p.profile[common::node_spread] * slowest_of(p.job.cluster.nodes));
  report.own_log_sd = own_spread(p.profile, p.job.architecture.causal);
  report.learnt = learnt_layout(p.profile, p.job, p.strategy);
  report.log_sd = log_spread(p.profile, p.job, p.strategy, log_gradient(report));
  report.low = report.step * std::exp(-kNinetyPercent * report.log_sd);
  report.high = report.step * std::exp(kNinetyPercent * report.log_sd);

  const Training& training = p.job.training;
  const FlopsPerSecond peak = p.job.cluster.instance.core.bf16 * p.job.cluster.cores();
  report.tokens_per_second =
      static_cast<double>(training.global_batch) * training.sequence / report.step.value;
  report.model_flops =
      FlopsPerSecond(report.tokens_per_second * model_flops_per_token(p.job.architecture, training.sequence));
  report.six_n_flops = FlopsPerSecond(report.tokens_per_second * six_n_flops_per_token(p.job.architecture));
  report.mfu = report.model_flops / peak;
  Flops executed{};
  const double replicas = static_cast<double>(p.micro_batches) * p.job.cluster.cores() / p.stages;
  for (int s = 0; s < p.stages; ++s) {
    for (const Chunk& c : p.work(s).chunks) {
      executed += (c.forward.flops + c.backward.flops + c.weights.flops) * replicas;
    }
  }
  report.hfu = executed / report.step / peak;
  return report;
}

namespace {

/// Work of a core of a stage in one step.
SimTime work_of_stage(const StepParts& p, int stage, double factor) {
  SimTime once, ends;
  const auto add = [&](const Items& items, int times) {
    for (const Item& item : items) {
      if (!item.is_transfer()) once += stretched(item, factor) * times;
    }
  };
  for (const Chunk& chunk : p.work(stage).chunks) {
    for (const Pass* pass : {&chunk.forward, &chunk.backward, &chunk.weights}) {
      if (pass->launch) once += pass->launch->length;
      for (const Chain& chain : pass->chains) add(*chain.items, chain.times);
    }
  }
  ends += stretched(p.work(stage).optimizer, factor) + p.work(stage).end.length;
  return once * p.micro_batches + ends;
}

}  // namespace

std::vector<CoreWork> StepModel::core_work(const Scenario& scenario) const {
  const StepParts& p = *parts_;
  std::map<std::pair<int, double>, int> cores;
  for (int r = 0; r < p.job.cluster.cores(); ++r) ++cores[{p.order.stage_of(r), scenario.factor(r)}];
  std::vector<CoreWork> all;
  for (const auto& [key, count] : cores)
    all.push_back({key.first, key.second, count, to_seconds(work_of_stage(p, key.first, key.second))});
  return all;
}

StepReport simulate_step(const Job& job, const Strategy& strategy, const Profile& profile,
                         StepOptions options) {
  return StepModel(job, strategy, profile, topology::ChipGraph(job.cluster.instance)).simulate(options);
}

}  // namespace trnplan::models
