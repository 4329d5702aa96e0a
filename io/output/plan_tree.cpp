#include <array>
#include <cmath>
#include <string>

#include "io/output/described.h"
#include "io/output/json_tree.h"
#include "io/output/plan_json.h"
#include "models/framework/framework.h"
#include "models/framework/strategy_keys.h"

namespace trnplan::io {

using models::MemoryMoment;
using models::StageMemory;
using planner::Experience;
using planner::Plan;
using planner::Violation;

namespace {

/// A stage's memory, and the micro-batches that cause it.
struct ShownStage {
  const StageMemory* of;
  Bytes limit;
};

struct KnownGraph {
  std::string id;
  std::int64_t instructions;
};

/// Peak in bytes. Components are rounded to bytes, and the peak is their sum, so that the parts add up
/// exactly.
std::int64_t whole_peak(const StageMemory& m) {
  return whole_bytes(m.parameters) + whole_bytes(m.gradients) + whole_bytes(m.optimizer) +
         whole_bytes(m.activations) + whole_bytes(m.logits) + whole_bytes(m.staging) + whole_bytes(m.runtime);
}

template <Bytes StageMemory::*Part>
std::int64_t part(const ShownMemory& m) {
  return whole_bytes(m.of->*Part);
}
template <Bytes MemoryMoment::*Part>
std::int64_t part_then(const MemoryMoment& m) {
  return whole_bytes(m.*Part);
}

ByName<Seconds> by_parameter(const Plan& p) {
  ByName<Seconds> all;
  for (const models::Parameter parameter : p.report.schema->parameters()) {
    const Seconds seconds = p.report.by_parameter[parameter.place()];
    if (seconds.value != 0) all.emplace_back(to_string(parameter), seconds);
  }
  return all;
}

ByName<double> elasticities_of(const Plan& p) {
  ByName<double> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(models::Resource::count); ++i) {
    const auto resource = static_cast<models::Resource>(i);
    all.emplace_back(to_string(resource), p.report.elasticity(resource));
  }
  return all;
}

}  // namespace

Json document() {
  return {{"schema_version", kSchemaVersion}};
}

PlacedStrategy placed(const models::Strategy& s, const models::Job& job) {
  return {s, models::micro_batches(job.training, s), job.cluster.nodes, job.cluster.instance.name,
          job.cluster.instance.changes};
}

PlacedStrategy placed(const Plan& p) {
  return {p.strategy, p.micro_batches, p.nodes, p.instance, p.changed_hardware};
}

ShownMemory worst_of(const models::Memory& memory) {
  return {&memory.worst(), memory.limit, memory.fit_probability};
}

std::int64_t whole_bytes(Bytes b) {
  return static_cast<std::int64_t>(b.value + 0.5);
}

std::optional<double> finite(double x) {
  return std::isfinite(x) ? std::optional(x) : std::nullopt;
}

template <>
const Record<PlacedStrategy>& record() {
  using Fields = std::vector<Record<PlacedStrategy>::Field>;
  static const Record<PlacedStrategy> described(
      "Strategy", "The layout of a job over the cores. ``simulate`` accepts it.", [] {
        Fields fields;
        for (const models::StrategyKey& key : models::strategy_keys()) {
          const auto add = [&]<class T>(T) {
            fields.push_back({key.name,
                              [&key](const PlacedStrategy& p) { return std::get<T>(key.stated(p.strategy)); },
                              key.says});
          };
          std::visit(add, key.stated({}));
          if (key.name == "micro_batch")
            fields.push_back(
                {"micro_batches", &PlacedStrategy::micro_batches, "passes per data-parallel rank and step"});
        }
        fields.push_back({"nodes", &PlacedStrategy::nodes});
        fields.push_back({"instance", &PlacedStrategy::instance});
        fields.push_back({"changed_hardware",
                          [](const PlacedStrategy& p) {
                            return p.changed_hardware.empty() ? std::nullopt
                                                              : std::optional(p.changed_hardware);
                          },
                          "numbers of the instance type that `--set` changed, as written", Absent::left_out});
        return fields;
      }());
  return described;
}

template <>
const Record<MemoryMoment>& record() {
  static const Record<MemoryMoment> described(
      "Moment", "Bytes that an instant adds to parameters, gradients, optimizer and runtime of a core.",
      {{"instant", &MemoryMoment::instant},
       {"activations", &part_then<&MemoryMoment::activations>},
       {"logits", &part_then<&MemoryMoment::logits>},
       {"staging", &part_then<&MemoryMoment::staging>}});
  return described;
}

template <>
const Record<ShownMemory>& record() {
  static const Record<ShownMemory> described(
      "Memory", "Bytes of a core at its peak; the parts add up to ``peak``.",
      {{"peak", [](const ShownMemory& m) { return whole_peak(*m.of); }},
       {"limit", [](const ShownMemory& m) { return whole_bytes(m.limit); }, "the core's HBM"},
       {"parameters", &part<&StageMemory::parameters>},
       {"gradients", &part<&StageMemory::gradients>},
       {"optimizer", &part<&StageMemory::optimizer>},
       {"activations", &part<&StageMemory::activations>},
       {"logits", &part<&StageMemory::logits>},
       {"staging", &part<&StageMemory::staging>},
       {"runtime", &part<&StageMemory::runtime>},
       {"stage", [](const ShownMemory& m) { return m.of->stage; }, "from 0"},
       {"instant", [](const ShownMemory& m) { return m.of->instant; },
        "of the peak: `loss`, `backward` or `optimizer`"},
       {"fit_probability", &ShownMemory::fit_probability,
        "that every stage fits ([how](models.md#memory)); not stated for a single stage", Absent::left_out}});
  return described;
}

namespace {

ShownMemory shown(const ShownStage& s) {
  return {s.of, s.limit, {}};
}

}  // namespace

template <>
const Record<ShownStage>& record() {
  static const Record<ShownStage> described(
      "StageMemory", "The memory of one stage.", &shown,
      {{"layers", [](const ShownStage& s) { return s.of->layers; }},
       {"in_flight", [](const ShownStage& s) { return s.of->in_flight; },
        "the largest number of micro-batches between their forward and backward pass; with a virtual "
        "pipeline, chunks of them"},
       {"moments",
        [](const ShownStage& s) {
          return std::vector<MemoryMoment>(s.of->moments.begin(), s.of->moments.end());
        },
        "bytes that each instant adds to parameters, gradients, optimizer and runtime"}});
  return described;
}

template <>
const Record<Violation>& record() {
  static const Record<Violation> described(
      "Violation", "A rule that a strategy breaks.",
      {{"rule", &Violation::rule, "an id of [rules.md](rules.md)"},
       {"message", &Violation::message},
       {"fix", &Violation::fix},
       {"doubtful", &Violation::doubtful, "the runtime may accept it all the same"}});
  return described;
}

template <>
const Record<KnownGraph>& record() {
  static const Record<KnownGraph> described(
      "KnownGraph", "The largest graph that is known to compile.",
      {{"id", &KnownGraph::id}, {"instructions", &KnownGraph::instructions}});
  return described;
}

template <>
const Record<Experience>& record() {
  static const Record<Experience> described(
      "KnownCase", "The published job nearest to a plan for which it is known whether it fits.",
      {{"id", &Experience::id},
       {"source", &Experience::source},
       {"job", &Experience::words},
       {"known", &Experience::known, "`ran`, `ran out of memory`, or the limit that it kept"},
       {"distance", &Experience::distance, "[Nearest known case](models.md#nearest-known-case)"},
       {"differences", &Experience::differences,
        "how the plan differs from it, the largest difference first"},
       {"largest_known_graph", [](const Experience& e) {
          return KnownGraph{e.largest_graph_id, std::llround(e.largest_graph)};
        }}});
  return described;
}

template <>
const Record<models::CategorySeconds>& record() {
  using Parts = models::CategorySeconds;
  static const Record<Parts> described("Breakdown", "Seconds along the critical path.", [] {
    std::vector<Record<Parts>::Field> fields;
    for (std::size_t i = 0; i < std::tuple_size_v<Parts>; ++i)
      fields.push_back(
          {to_string(static_cast<models::Category>(i)), [i](const Parts& parts) { return parts[i]; }});
    return fields;
  }());
  return described;
}

template <>
const Record<models::MeasuredAllReduce>& record() {
  using M = models::MeasuredAllReduce;
  static const Record<M> described(
      "MeasuredAllReduce", "An all-reduce that was measured on the cluster, and that the prediction takes.",
      {{"bus_bytes_per_second", [](const M& m) { return m.bus.value; },
        "bus bandwidth: bytes of a rank / time * 2 (ranks - 1) / ranks, as nccl-tests and nccom-test count "
        "it"},
       {"nodes", &M::nodes, "on which it was measured"},
       {"ranks", &M::ranks, "of all of them"},
       {"bytes", [](const M& m) { return whole_bytes(m.bytes); }, "of each rank"},
       {"log_sd", &M::log_sd, "uncertainty of its logarithm"},
       {"log_sd_per_doubling", &M::per_doubling,
        "what each doubling from its nodes to those of a plan adds to it"}});
  return described;
}

template <>
const Record<models::SlowStep>& record() {
  using S = models::SlowStep;
  static const Record<S> described(
      "SlowNetwork", "The slow state of a network that was not measured.",
      {{"probability", &S::probability},
       {"step_seconds", [](const S& s) { return s.step; }, "median in that state"}});
  return described;
}

template <>
const Record<Plan>& record() {
  static const Record<Plan> described(
      "Plan", "A strategy with its predictions.",
      {{"strategy", [](const Plan& p) { return placed(p); }},
       {"global_batch", &Plan::global_batch, "sequences per step, which matters if the job leaves it free"},
       {"step_seconds", [](const Plan& p) { return p.report.step; }},
       {"step_seconds_90",
        [](const Plan& p) {
          return std::array{p.report.low, p.report.high};
        },
        "the 90 % interval"},
       {"slow_network", [](const Plan& p) { return p.report.slow; },
        "which the interval covers; absent where the network was measured or has one state",
        Absent::left_out},
       {"tokens_per_second", [](const Plan& p) { return p.report.tokens_per_second; }},
       {"mfu", [](const Plan& p) { return p.report.mfu; }, "[MFU conventions](models.md#mfu-conventions)"},
       {"hfu", [](const Plan& p) { return p.report.hfu; }, "the same, counting recomputation"},
       {"model_tflops", [](const Plan& p) { return p.report.model_flops.value / 1e12; },
        "of the whole cluster"},
       {"six_n_tflops", [](const Plan& p) { return p.report.six_n_flops.value / 1e12; },
        "6 FLOPs per parameter and token"},
       {"memory_bytes_per_core", [](const Plan& p) { return worst_of(p.memory); },
        "of the worst stage at its peak instant"},
       {"memory_by_stage",
        [](const Plan& p) {
          std::vector<ShownStage> all;
          for (const StageMemory& m : p.memory.stages) all.push_back({&m, p.memory.limit});
          return all;
        },
        "the same for every stage"},
       {"compile_probability", [](const Plan& p) { return p.graph.compile_probability(); },
        "that the compiler accepts the largest graph; 1 on a device without such a limit"},
       {"instructions_per_graph", [](const Plan& p) { return std::llround(p.graph.expected); },
        "of the largest graph, the median; 0 on a device without such a limit"},
       {"breakdown_seconds", [](const Plan& p) { return p.report.breakdown; },
        "along the critical path; adds up to `step_seconds`"},
       {"seconds_by_parameter", &by_parameter,
        "the same path by the profile parameter with which its seconds scale; parameters without any are "
        "left out. Some seconds scale with two parameters and count for both, so the sum may be more than "
        "the step"},
       {"seconds_by_operator", [](const Plan& p) { return p.report.by_operator; },
        "the same path by operator, the longest first; adds up to `step_seconds`"},
       {"elasticities", &elasticities_of,
        "by how many per cent the step changes when a part of the machine gets 1 % faster (`tensor`, "
        "`vector`, `hbm`, `dma`, `link`, `efa`: at most 0) or takes 1 % longer (`latency`, `launch`: at "
        "least 0), to first order along the critical path. Their absolute values add up to 1; time that work "
        "loses to a simultaneous collective counts for the collective"},
       {"usd_per_hour",
        [](const Plan& p) { return p.usd_per_hour > 0 ? std::optional(p.usd_per_hour) : std::nullopt; },
        "the price of all nodes, as stated, else on demand"},
       {"doubts", &Plan::doubts,
        "in `plan`, replica groups that the runtime may refuse, included by `--allow-doubtful` or by pins; "
        "always empty in `simulate` and `check`, which have `violations`"},
       {"network", &Plan::network, "the measured network that the prediction takes", Absent::left_out},
       {"schedule",
        [](const Plan& p) {
          const models::Schedule s = models::effective_schedule(p.strategy);
          return models::framework_of(p.strategy).runs(s) ? std::optional<models::Schedule>() : s;
        },
        "only for a what-if that the training loop cannot run", Absent::left_out},
       {"step_extrapolated",
        [](const Plan& p) { return p.report.extrapolated ? std::optional(true) : std::nullopt; },
        "true if the micro-batches were too many to be simulated and the step is extrapolated from fewer",
        Absent::left_out},
       {"nearest_memory_case", &Plan::known,
        "the published job nearest to the plan for which it is known whether it fits", Absent::left_out},
       {"fit_probability_at_distance", &Plan::fits,
        "that it fits, including the additional doubt from its distance from what ran", Absent::left_out},
       {"compile_probability_at_distance", &Plan::compiles, "that it compiles, likewise", Absent::left_out},
       {"works_probability", &Plan::works, "that it fits, compiles and runs", Absent::left_out},
       {"compared_runs", &Plan::compared_runs,
        "recorded runs of its training loop on machines of its family whose steps were compared with "
        "predictions",
        Absent::left_out},
       {"run_days",
        [](const Plan& p) { return p.run.value > 0 ? std::optional(in_days(p.run)) : std::nullopt; },
        "of the job's `training.tokens` at this speed, without failures, checkpoints and restarts",
        Absent::left_out},
       {"run_usd",
        [](const Plan& p) { return p.run.value > 0 ? std::optional(planner::run_usd(p)) : std::nullopt; },
        "likewise, on demand", Absent::left_out}});
  return described;
}

namespace {

/// Result of `simulate` for a strategy that has a program.
struct ShownSimulation {
  const Plan& plan;
  const std::vector<planner::Violation>& broken;
  const ShownScenario* scenario;  ///< may be null
};

/// Work of some cores, and that of the busiest ones of their stage.
struct ShownWork {
  models::CoreWork of;
  Seconds most;
};

std::vector<ShownWork> shown_work(const ShownScenario& s) {
  std::vector<ShownWork> all;
  for (const models::CoreWork& w : *s.work) all.push_back({w, models::most_work(*s.work, w.stage)});
  return all;
}

const Plan& plan_of_simulation(const ShownSimulation& s) {
  return s.plan;
}

}  // namespace

template <>
const Record<ShownWork>& record() {
  static const Record<ShownWork> described(
      "CoreWork", "Cores of a pipeline stage whose work takes equally long.",
      {{"stage", [](const ShownWork& w) { return w.of.stage; }},
       {"factor", [](const ShownWork& w) { return w.of.factor; }, "of the time of their work"},
       {"cores", [](const ShownWork& w) { return w.of.cores; }},
       {"work_seconds", [](const ShownWork& w) { return w.of.work; },
        "of one core in a step, without collectives, messages and waiting"},
       {"waits_seconds", [](const ShownWork& w) { return w.most - w.of.work; },
        "by which that is less than the work of the busiest cores of the stage"}});
  return described;
}

template <>
const Record<models::RunsOfStep>& record() {
  static const Record<models::RunsOfStep> described(
      "RunsOfStep", "Steps whose passes and messages take random times.",
      {{"runs", [](const models::RunsOfStep& r) { return r.runs; }},
       {"seed", [](const models::RunsOfStep& r) { return static_cast<int>(r.seed); }},
       {"step_seconds_90",
        [](const models::RunsOfStep& r) {
          return std::array{r.low, r.high};
        },
        "5th and 95th percentile of the runs; `step_seconds` is the median"}});
  return described;
}

template <>
const Record<ShownScenario>& record() {
  static const Record<ShownScenario> described(
      "Scenario", "A step on a machine that is not ideal.",
      {{"scenario", [](const ShownScenario& s) { return *s.text; }, "as it was asked for"},
       {"step_seconds", [](const ShownScenario& s) { return s.report->step; }},
       {"tokens_per_second", [](const ShownScenario& s) { return s.report->tokens_per_second; }},
       {"breakdown_seconds", [](const ShownScenario& s) { return s.report->breakdown; },
        "along the critical path"},
       {"work", &shown_work},
       {"runs", &ShownScenario::runs, "with `jitter`", Absent::left_out}});
  return described;
}

template <>
const Record<ShownSimulation>& record() {
  static const Record<ShownSimulation> described(
      "Simulation", "One plan, with the rules that it breaks.", &plan_of_simulation,
      {{"violations",
        [](const ShownSimulation& s) { return s.broken.empty() ? std::nullopt : std::optional(s.broken); },
        "doubts included", Absent::left_out},
       {"scenario", &ShownSimulation::scenario, "with `--scenario`; all other keys are of the ideal machine",
        Absent::left_out}});
  return described;
}

std::string plan_json(const Plan& plan, const std::vector<planner::Violation>& broken,
                      const ShownScenario* scenario) {
  return document_of(ShownSimulation{plan, broken, scenario});
}

std::string refusal_json(const std::vector<planner::Violation>& broken) {
  Json j = document();
  j["violations"] = Shown<std::vector<planner::Violation>>::json(broken);
  return dumped(j);
}

const Description& simulation_document() {
  return record<ShownSimulation>().description();
}

}  // namespace trnplan::io
