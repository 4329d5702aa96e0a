#include "models/step.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/pipeline_time.h"
#include "models/spread.h"
#include "models/step_parts.h"
#include "models/step_run.h"

namespace trnplan::models {

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

std::string StepModel::not_modelled(const Job&, const Strategy&) {
  return "";
}

StepModel::StepModel(const Job& job, const Strategy& strategy, const Profile& profile,
                     const topology::ChipGraph& graph, Schedule schedule, CollectiveMemory* memory) {
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
  parts_ = std::make_unique<const StepParts>(job, strategy, profile, graph, schedule, memory);
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

/// Parts in whose tasks first and last are the step's: of what is done several times the first and the last
/// time apart.
std::vector<sim::PathPart> path_of(const StepRun& r) {
  std::vector<sim::PathPart> parts;
  for (sim::PathPart& part : r.run.critical_path(r.repeats)) {
    if (part.times > 2) parts.push_back({part.tasks, 1});
    if (part.times > 1) parts.push_back({part.tasks, std::max<std::int64_t>(part.times - 2, 1)});
    parts.push_back({std::move(part.tasks), 1});
  }
  return parts;
}

/// Adds up the critical path. Micro-batch work of other stages before the path first and after it last visits
/// its main stage is the bubble: filling and draining the pipeline.
Charge fold_path(const StepRun& r, int stages, double slowdown) {
  const StepProgram& step = r.step;
  const sim::Run& run = r.run;
  const std::vector<sim::PathPart> path = path_of(r);
  std::vector<std::int64_t> work(static_cast<std::size_t>(stages), 0);
  for (const sim::PathPart& part : path) {
    for (const sim::TaskId t : part.tasks) {
      const StepProgram::Source& s = step.of(t);
      if (s.pass) work[static_cast<std::size_t>(s.stage)] += (run.ended[t] - run.started[t]).ps * part.times;
    }
  }
  const int main = static_cast<int>(std::max_element(work.begin(), work.end()) - work.begin());
  using Place = std::pair<std::size_t, std::size_t>;  // part, task
  Place first{path.size(), 0}, last{0, 0};
  for (Place at{0, 0}; at.first < path.size(); ++at.first) {
    for (at.second = 0; at.second < path[at.first].tasks.size(); ++at.second) {
      const StepProgram::Source& s = step.of(path[at.first].tasks[at.second]);
      if (!s.pass || s.stage != main) continue;
      first = std::min(first, at);
      last = at;
    }
  }
  struct Times {
    std::int64_t normal = 0, bubble = 0;
    SimTime normal_beyond, bubble_beyond;
  };
  std::vector<Times> times(step.sources.size());
  for (Place at{0, 0}; at.first < path.size(); ++at.first) {
    const std::int64_t n = path[at.first].times;
    for (at.second = 0; at.second < path[at.first].tasks.size(); ++at.second) {
      const sim::TaskId task = path[at.first].tasks[at.second];
      Times& t = times[step.program.tasks()[task].tag];
      const SimTime beyond = beyond_fixed(step.program, run, task) * n;
      if (step.of(task).pass && (at < first || last < at)) {
        t.bubble += n;
        t.bubble_beyond += beyond;
      } else {
        t.normal += n;
        t.normal_beyond += beyond;
      }
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
  const StepRun r = options.unfolded || options.flat ? run_unfolded(p, *layout, report.expanded)
                                                     : run_folded(p, *layout, report.expanded);
  report.folded = r.repeats > 0;
  report.step = to_seconds(r.end());
  const auto repeats = static_cast<std::uint64_t>(r.repeats);
  report.tasks = r.step.program.tasks().size() + (repeats > 0 ? repeats * r.run.rhythm->tasks : 0);
  report.events = r.run.events + (repeats > 0 ? repeats * r.run.rhythm->events : 0);
  charge_report(report, fold_path(r, p.stages, p.slowdown()),
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
