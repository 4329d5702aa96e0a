#include "api/report_parts.h"

#include <cmath>
#include <filesystem>
#include <numeric>

#include <fmt/format.h>

#include "api/inputs.h"
#include "api/plan_folder.h"
#include "api/rehearsal.h"
#include "io/catalog/recommending.h"
#include "io/output/atomic_write.h"
#include "launch/report/report_page.h"
#include "models/framework/framework.h"
#include "models/framework/strategy_keys.h"
#include "models/job/sharding_words.h"
#include "models/memory/fit_probability.h"
#include "planner/confidence/distance.h"
#include "planner/plan/strategy_grammar.h"
#include "targets/registry.h"
#include "text/document.h"
#include "text/shell_words.h"
#include "text/version.h"
#include "topology/chip_graph.h"
#include "topology/rank_order.h"
#include "topology/verdict.h"
#include "units/normal.h"

namespace trnplan::api {

using io::JsonValue;

namespace {

constexpr const char *kAllReduce = "--all-reduce-gbps", *kMeasured = "--measured";

std::int64_t whole(Bytes b) {
  return std::llround(b.value);
}

std::string sentence(const Remark& r) {
  return std::holds_alternative<std::string>(r) ? std::get<std::string>(r)
                                                : to_string(std::get<Diagnostic>(r));
}

JsonValue stage_part(const models::StageMemory& m, Bytes limit, const models::Profile& profile,
                     double known) {
  const models::FitDistribution fit = models::fit_distribution(m, limit, profile, known);
  const double unsure = fit.median.value - fit.sure.value;
  const auto end = [&](double z) { return std::llround(fit.sure.value + unsure * std::exp(z * fit.log_sd)); };
  return JsonValue::object({{"stage", m.stage},
                            {"layers", m.layers},
                            {"in_flight", m.in_flight},
                            {"instant", to_string(m.instant)},
                            {"parameters", whole(m.parameters)},
                            {"gradients", whole(m.gradients)},
                            {"optimizer", whole(m.optimizer)},
                            {"activations", whole(m.activations)},
                            {"logits", whole(m.logits)},
                            {"staging", whole(m.staging)},
                            {"runtime", whole(m.runtime)},
                            {"peak", whole(m.peak())},
                            {"median", whole(fit.median)},
                            {"bytes_90", JsonValue::List{end(-kNinetyPercent), end(kNinetyPercent)}},
                            {"fit_probability", fit.probability}});
}

/// Group number of each core of the first node, in order of appearance.
JsonValue groups_on_a_node(const topology::Instance& instance, const std::vector<std::vector<int>>& groups) {
  std::vector<int> of_core(static_cast<std::size_t>(instance.cores()), -1);
  int next = 0;
  for (const std::vector<int>& group : groups) {
    bool here = false;
    for (const int rank : group) {
      if (rank >= instance.cores()) continue;
      of_core[static_cast<std::size_t>(rank)] = next;
      here = true;
    }
    next += here;
  }
  return of_core;
}

/// The groups of a pipeline are pairs; its picture shows the stage of each core.
JsonValue stages_on_a_node(const topology::Instance& instance, const topology::RankOrder& order) {
  std::vector<int> of_core(static_cast<std::size_t>(instance.cores()));
  for (int core = 0; core < instance.cores(); ++core)
    of_core[static_cast<std::size_t>(core)] = order.stage_of(core);
  return of_core;
}

JsonValue kinds_part(const topology::Cluster& cluster, const topology::ChipGraph& graph,
                     const models::Strategy& s) {
  const topology::Degrees degrees{s.tensor_parallel, s.context_parallel, s.data_parallel,
                                  s.pipeline_parallel};
  JsonValue all = JsonValue::List();
  if (!topology::RankOrder::obstacle(cluster, degrees).empty()) return all;
  const topology::RankOrder order(cluster, degrees);
  const topology::PlacementVerdict verdict = topology::judge_all(cluster, graph, order, s.kv_replicator);
  for (const topology::KindVerdict& k : topology::by_kind(graph, verdict)) {
    const bool pipeline = k.kind == topology::GroupKind::pipeline;
    all.add(JsonValue::object(
        {{"kind", topology::to_string(k.kind)},
         {"groups", k.groups},
         {"ranks", k.ranks},
         {"verdict", topology::to_string(k.worst.verdict)},
         {"rule", k.worst.rule},
         {"message", k.worst.message},
         {"chips", k.worst.verdict == topology::Verdict::supported ? std::vector<int>() : k.worst.chips},
         {"cores", pipeline ? stages_on_a_node(cluster.instance, order)
                   : k.kind == topology::GroupKind::kv_replicas
                       ? groups_on_a_node(cluster.instance, order.kv_groups(s.kv_replicator))
                       : groups_on_a_node(cluster.instance, order.groups(k.kind))}}));
  }
  return all;
}

}  // namespace

void check_report(const ReportFile& file, const std::vector<std::string>& others) {
  check_apart("--report", file.path, others);
  if (file.path.empty()) return;
  rehearse_file(file.path, file.force);
  if (!file.path.ends_with(".html") && !file.path.ends_with(".htm"))
    throw InputError({{"--report", 0, 0},
                      "",
                      in_quotes(file.path) + " does not end in .html",
                      "name it .html: a browser opens the page and prints it as PDF"});
}

void write_report(const ReportFile& file, const JsonValue& data) {
  io::write_file(file.path, launch::report_page(data), file.force);
}

JsonValue report_of(const char* kind, const std::vector<Remark>& remarks) {
  std::vector<std::string> said;
  for (const Remark& r : remarks) {
    std::string text = sentence(r);
    if (text.starts_with("wrote ")) continue;  // files are reported where the program ran
    said.push_back(std::move(text));
  }
  return JsonValue::object(
      {{"schema_version", 1}, {"kind", kind}, {"version", program_version()}, {"remarks", said}});
}

JsonValue job_part(const models::Job& job) {
  std::vector<std::string> instances;
  for (const topology::Instance& i : job.space.instances) instances.push_back(i.name);
  if (instances.empty()) instances.push_back(job.cluster.instance.name);
  std::vector<int> nodes = job.space.nodes;
  if (nodes.empty()) nodes.push_back(job.cluster.nodes);
  return JsonValue::object({{"model", job.architecture.name},
                            {"title", job.architecture.title},
                            {"sequence", job.training.sequence},
                            {"global_batch", job.training.global_batch},
                            {"tokens", job.training.tokens},
                            {"precision", to_string(job.training.precision)},
                            {"framework", job.software.framework},
                            {"release", job.software.release},
                            {"instances", instances},
                            {"nodes", nodes},
                            {"by_cost", job.objective == models::Objective::cost}});
}

JsonValue strategy_part(const models::Strategy& s) {
  JsonValue part = JsonValue::object();
  for (const models::StrategyKey& key : models::strategy_keys())
    part.add(std::string(key.name),
             std::visit([](const auto& value) { return JsonValue(value); }, key.stated(s)));
  const std::string sharding = models::sharding_words(s);
  part.add("sharding_words", sharding.empty() ? "ZeRO-1" : sharding.substr(2));
  part.add("recomputed", models::recompute_words(s));
  return part;
}

JsonValue plan_part(const models::Job& job, const planner::Plan& p) {
  std::vector<double> breakdown;
  for (const Seconds s : p.report.breakdown) breakdown.push_back(s.value);
  JsonValue plan =
      JsonValue::object({{"strategy", strategy_part(p.strategy)},
                         {"grammar", planner::strategy_grammar(job, p)},
                         {"instance", p.instance},
                         {"nodes", p.nodes},
                         {"micro_batches", p.micro_batches},
                         {"global_batch", p.global_batch},
                         {"step_seconds", p.report.step.value},
                         {"step_seconds_90", JsonValue::List{p.report.low.value, p.report.high.value}},
                         {"tokens_per_second", p.report.tokens_per_second},
                         {"mfu", p.report.mfu},
                         {"hfu", p.report.hfu},
                         {"breakdown_seconds", breakdown},
                         {"peak_bytes", whole(p.memory.worst().peak())},
                         {"limit_bytes", whole(p.memory.limit)},
                         {"fit_probability", p.memory.fit_probability},
                         {"works_probability", p.works},
                         {"compile_probability", p.graph.compile_probability()},
                         {"usd_per_hour", p.usd_per_hour > 0 ? std::optional(p.usd_per_hour) : std::nullopt},
                         {"price_kind", p.price_kind},
                         {"usd_per_1e9_tokens", planner::usd_per_billion_tokens(p)},
                         {"extrapolated", p.report.extrapolated}});
  if (p.run.value > 0) plan.add("run_days", in_days(p.run));
  return plan;
}

JsonValue memory_part(const planner::Plan& plan, const models::Profile& profile, double known) {
  JsonValue stages = JsonValue::List();
  for (const models::StageMemory& m : plan.memory.stages)
    stages.add(stage_part(m, plan.memory.limit, profile, known));
  return JsonValue::object({{"limit_bytes", whole(plan.memory.limit)},
                            {"fullest", plan.memory.worst().stage},
                            {"stages", std::move(stages)}});
}

JsonValue machine_part(const models::Job& planned, const models::Strategy& s) {
  const topology::Instance& i = planned.cluster.instance;
  JsonValue links = JsonValue::List();
  for (const topology::Link& l : i.links) links.add(JsonValue::List{l.chip_a, l.chip_b});
  return JsonValue::object({{"instance", i.name},
                            {"nodes", planned.cluster.nodes},
                            {"core_word", std::string(topology::device_word(i.traits.accelerator))},
                            {"chips", i.chips},
                            {"switches", i.switches},
                            {"cores_per_chip", i.cores_per_chip},
                            {"memory_bytes", whole(i.core.memory)},
                            {"rows", i.torus_rows},
                            {"columns", i.torus_columns},
                            {"depth", i.torus_depth},
                            {"links", std::move(links)},
                            {"kinds", kinds_part(planned.cluster, topology::ChipGraph(i), s)}});
}

void add_plan_parts(JsonValue& page, const models::Job& planned, const planner::Plan& plan,
                    const models::Profile& profile, const io::Catalog& catalog, double distance,
                    const ScenarioStep* scenario) {
  const planner::DistanceParameters parameters =
      io::recommending_from(*catalog.document("recommending.json")).distance;
  page.add("profile", profile.name);
  page.add("memory",
           memory_part(plan, profile, planner::RecordedRuns({}, parameters).memory_log_sd(distance)));
  page.add("machine", machine_part(planned, plan.strategy));
  page.add("step", timeline_part(planned, plan.strategy, profile, plan.report, scenario));
  if (plan.known) {
    page.add("known", JsonValue::object({{"id", plan.known->id},
                                         {"job", plan.known->words},
                                         {"known", plan.known->known},
                                         {"differences", plan.known->differences}}));
  }
}

JsonValue outlook_part(const planner::Outlook& o) {
  return JsonValue::object({{"fits", o.fits},
                            {"compiles", o.compiles},
                            {"runs", o.runs},
                            {"works", o.works()},
                            {"distance", o.distance.value},
                            {"nearest", o.nearest},
                            {"untested", o.distance.untested},
                            {"differs", o.distance.differs}});
}

JsonValue violations_part(const std::vector<planner::Violation>& broken) {
  JsonValue all = JsonValue::List();
  for (const planner::Violation& v : broken) {
    all.add(JsonValue::object(
        {{"rule", v.rule}, {"message", v.message}, {"fix", v.fix}, {"doubtful", v.doubtful}}));
  }
  return all;
}

std::string word_for(const JobInput& job) {
  return job.texts.states(job.job) ? "job.yaml" : job.job;
}

void add_commands(JsonValue& page, const JobInput& job, JsonValue commands) {
  page.add("commands", std::move(commands));
  if (job.texts.states(job.job)) page.add("save_as", word_for(job));
}

JsonValue command_part(const std::string& what, const std::vector<std::string>& words) {
  return JsonValue::object({{"what", what}, {"command", command_line(words)}});
}

std::optional<std::string> why_unwritten(const models::Job& planned, const planner::Plan& plan,
                                         const std::string& target) {
  if (!planned.cluster.instance.changes.empty()) return "--set states hardware that does not exist";
  return why_no_folder(target.empty() ? targets::of(planned) : *targets::find(target), planned,
                       plan.strategy);
}

std::vector<std::string> network_words(const Asked& request, const models::Job& job,
                                       std::string_view instance) {
  const io::JobOptions& o = request.job.options;
  const std::optional<models::MeasuredAllReduce>& network = job.all_reduce;
  std::vector<std::string> words;
  if (!network || instance.empty() || network->instance == instance) {
    const bool open = network && o.all_reduce.find('@') == std::string::npos;
    if (!o.all_reduce.empty())
      words = {kAllReduce, open ? fmt::format("{}@{}", o.all_reduce, network->nodes) : o.all_reduce};
    if (!o.measured.empty())
      words.insert(words.end(), {kMeasured, std::filesystem::absolute(o.measured).string()});
  }
  for (const std::string& setting : request.hardware) words.insert(words.end(), {"--set", setting});
  return words;
}

std::vector<std::string> words_without_network(const std::vector<std::string>& job_options) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i + 1 < job_options.size(); i += 2) {
    if (job_options[i] == kAllReduce || job_options[i] == kMeasured) continue;
    words.insert(words.end(), {job_options[i], job_options[i + 1]});
  }
  return words;
}

std::vector<std::string> words_for_simulate(const std::string& job, const Asked& request,
                                            const models::Job& of, const planner::Plan& plan) {
  const io::JobOptions& o = request.job.options;
  std::vector<std::string> words = {"trnplan", "simulate", job, "--strategy",
                                    planner::strategy_grammar(of, plan)};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {name, value});
  };
  const models::SearchSpace& open = of.space;
  add("--nodes", o.nodes.empty() && open.nodes.empty() ? "" : fmt::to_string(plan.nodes));
  add("--instance", o.instance.empty() && open.instances.empty() ? "" : plan.instance);
  add("--sequence", o.sequence);
  const bool any_batch = open.largest_batch > 0 || open.batch_per_node > 0;
  add("--global-batch", o.global_batch.empty() && !any_batch ? "" : fmt::to_string(plan.global_batch));
  add("--precision",
      o.precision.empty() && !open.precision ? "" : std::string(to_string(plan.strategy.precision)));
  add("--release", o.release);
  const std::vector<std::string> network = network_words(request, of, plan.instance);
  words.insert(words.end(), network.begin(), network.end());
  return words;
}

}  // namespace trnplan::api
