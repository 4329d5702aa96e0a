#include "models/step.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/pipeline_time.h"
#include "models/spread.h"
#include "models/step_parts.h"
#include "models/step_program.h"

namespace trnplan::models {

namespace {

/// What a step may hold: some 1.5 GB of tasks while layers are not expanded.
constexpr std::int64_t kMostPasses = 4'000'000;

}  // namespace

std::string_view to_string(Resource r) {
  constexpr std::string_view kNames[] = {"tensor", "vector", "hbm",     "dma",
                                         "link",   "efa",    "latency", "launch"};
  return kNames[static_cast<std::size_t>(r)];
}

Resource resource_of(Parameter p) {
  switch (p) {
    case Parameter::matmul_efficiency:
    case Parameter::flash_efficiency:
      return Resource::tensor;
    case Parameter::vector_efficiency:
      return Resource::vector;
    case Parameter::hbm_fraction:
      return Resource::hbm;
    case Parameter::dma_fraction:
      return Resource::dma;
    case Parameter::link_fraction:
      return Resource::link;
    case Parameter::efa_fraction:
      return Resource::efa;
    case Parameter::in_graph_alpha:
    case Parameter::hop_latency:
    case Parameter::efa_latency:
      return Resource::latency;
    case Parameter::layer_overhead:
    case Parameter::graph_launch:
    case Parameter::task_launch:
    case Parameter::host_launch:
    case Parameter::bucket_overhead:
    case Parameter::step_overhead:
      return Resource::launch;
    default:
      return Resource::count;
  }
}

double StepReport::elasticity(Resource r) const {
  double share = 0;
  for (std::size_t i = 0; i < exclusive.size(); ++i) {
    if (resource_of(static_cast<Parameter>(i)) == r) share += exclusive[i] / step;
  }
  return r == Resource::latency || r == Resource::launch ? share : 0 - share;
}

std::string StepModel::not_modelled(const Job& job, const Strategy& s) {
  const std::int64_t passes =
      saturating_product({models::micro_batches(job.training, s), s.pipeline_parallel, s.virtual_pipeline});
  if (passes > kMostPasses)
    return "more than 4 million micro-batches times stages in a step are not simulated";
  return "";
}

StepModel::StepModel(const Job& job, const Strategy& strategy, const Profile& profile,
                     const topology::ChipGraph& graph, Schedule schedule) {
  const std::string missing = not_modelled(job, strategy);
  if (!missing.empty()) throw std::invalid_argument(missing);
  const int m = models::micro_batches(job.training, strategy);
  if (m < 1) {
    throw std::invalid_argument(
        "the global batch is smaller than one micro-batch on every data-parallel rank");
  }
  if (strategy.virtual_pipeline > 1 && strategy.pipeline_parallel == 1)
    throw std::invalid_argument("virtual stages need PP > 1; see canonical()");
  if (strategy.virtual_pipeline > 1 && m % strategy.pipeline_parallel != 0) {
    throw std::invalid_argument("the interleaved schedule needs a multiple of PP as micro-batches");
  }
  parts_ = std::make_unique<const StepParts>(job, strategy, profile, graph, schedule);
}

StepModel::~StepModel() = default;
StepModel::StepModel(StepModel&&) noexcept = default;
StepModel& StepModel::operator=(StepModel&&) noexcept = default;

Seconds StepModel::lower_bound() const {
  const StepParts& p = *parts_;
  const bool blocking = p.blocking();
  StepCosts costs;
  costs.barrier = p.barrier.uncontended();
  costs.micro_batches = p.micro_batches;
  for (int i = 0; i < p.stages; ++i) {
    const StageWork& w = p.work(i);
    StageCost cost;
    for (int c = 0; c < p.chunks(); ++c) {
      const Chunk& chunk = w.chunks[static_cast<std::size_t>(c)];
      const SimTime up = chunk.forward.whole.length, down = chunk.backward.whole.length;
      cost.each += up + down + chunk.weights.whole.length;
      for (const int below : {c * p.stages + i - 1, c * p.stages + i}) {
        if (blocking || below < 0 || below + 1 >= p.stages * p.chunks()) continue;
        const int b = below % p.stages;
        cost.each += p.message_launch.length * 2 + p.hold(b, true).length + p.hold(b, false).length;
      }
      if (c == 0) {
        cost.up = up;
        cost.down = down;
      }
    }
    cost.reduce = uncontended(w.gradients_to_norms) + uncontended(w.context_reduce) + uncontended(w.reduce);
    cost.tail = w.optimizer.uncontended() + uncontended(w.gather) + w.end.uncontended();
    costs.stages.push_back(cost);
  }
  for (int i = 0; i + 1 < p.stages; ++i) {
    const Boundary& b = p.boundaries[static_cast<std::size_t>(i)];
    costs.boundaries.push_back({uncontended(*b.activation), uncontended(*b.gradient)});
  }
  return to_seconds(step_bound(costs, blocking, p.schedule != Schedule::zero_bubble));
}

namespace {

/// Adds up the critical path. Micro-batch work of other stages before the path first and after it last visits
/// its main stage is the bubble: filling and draining the pipeline.
Charge fold_path(const StepProgram& step, const sim::Run& run, int stages, double slowdown) {
  const std::vector<sim::TaskId> path = run.critical_path();
  std::vector<std::int64_t> work(static_cast<std::size_t>(stages), 0);
  for (const sim::TaskId t : path) {
    const StepProgram::Source& s = step.of(t);
    if (s.pass) work[static_cast<std::size_t>(s.stage)] += (run.ended[t] - run.started[t]).ps;
  }
  const int main = static_cast<int>(std::max_element(work.begin(), work.end()) - work.begin());
  std::size_t first = path.size(), last = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const StepProgram::Source& s = step.of(path[i]);
    if (!s.pass || s.stage != main) continue;
    first = std::min(first, i);
    last = i;
  }
  struct Times {
    std::int64_t normal = 0, bubble = 0;
    SimTime normal_beyond, bubble_beyond;
  };
  std::vector<Times> times(step.sources.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    Times& t = times[step.program.tasks()[path[i]].tag];
    const SimTime beyond = beyond_fixed(step.program, run, path[i]);
    if (step.of(path[i]).pass && (i < first || i > last)) {
      ++t.bubble;
      t.bubble_beyond += beyond;
    } else {
      ++t.normal;
      t.normal_beyond += beyond;
    }
  }
  Charge total;
  for (std::size_t tag = 0; tag < times.size(); ++tag) {
    const Item* item = step.sources[tag].item;
    if (item == nullptr) continue;
    const Times& t = times[tag];
    total.add(item->fixed, t.normal);
    charge_beyond(total, *item, t.normal_beyond, slowdown);
    Charge filling;
    filling.add(item->fixed, t.bubble);
    charge_beyond(filling, *item, t.bubble_beyond, slowdown);
    const SimTime all = filling.total();
    filling.category = {};
    filling.category[static_cast<std::size_t>(Category::bubble)] = all.ps;
    total.add(filling);
  }
  return total;
}

/// `pace`: the logarithm by which the slowest node is slower than the median one.
void charge_report(StepReport& report, const Charge& path, double pace) {
  for (std::size_t i = 0; i < kCategories; ++i) report.breakdown[i] = to_seconds(SimTime{path.category[i]});
  for (std::size_t i = 0; i < kParameters; ++i) {
    report.exclusive[i] = to_seconds(SimTime{path.parameter[i]});
    report.by_parameter[i] = to_seconds(SimTime{path.parameter[i]} + SimTime{path.also[i]});
  }
  // All of it scales with the pace of the slowest node: t exp(s z) grows by t s z for each unit of log s.
  report.by_parameter[static_cast<std::size_t>(Parameter::node_spread)] = report.step * pace;
  for (const OperatorTicks& o : path.operators) {
    report.by_operator.emplace_back(std::string(o.name), to_seconds(o.time));
  }
  std::stable_sort(report.by_operator.begin(), report.by_operator.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
}

}  // namespace

StepReport StepModel::simulate(StepOptions options) const {
  const StepParts& p = *parts_;
  StepReport report;
  report.expanded = options.flat || options.expand || p.must_expand;
  const std::unique_ptr<Layout> layout = options.flat ? lane_per_core(p) : lane_per_stage(p);
  const StepProgram step = make_program(p, *layout, report.expanded);
  const sim::Run run = sim::execute(step.program);

  report.step = to_seconds(run.end);
  report.tasks = step.program.tasks().size();
  report.events = run.events;
  charge_report(report, fold_path(step, run, p.stages, p.slowdown()),
                p.profile[Parameter::node_spread] * slowest_of(p.job.cluster.nodes));
  const double spread = log_spread(p.profile, p.job.software, log_gradient(report));
  report.low = report.step * std::exp(-kNinetyPercent * spread);
  report.high = report.step * std::exp(kNinetyPercent * spread);

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

StepReport simulate_step(const Job& job, const Strategy& strategy, const Profile& profile,
                         StepOptions options) {
  return StepModel(job, strategy, profile, topology::ChipGraph(job.cluster.instance)).simulate(options);
}

}  // namespace trnplan::models
