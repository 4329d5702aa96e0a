#include "api/check.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "api/check_findings.h"
#include "api/check_run.h"
#include "api/explain.h"
#include "api/foreign_files.h"
#include "api/predictor.h"
#include "io/input/instance_names.h"
#include "io/input/nxdt_edit.h"
#include "io/input/plan_file.h"
#include "io/input/readers.h"
#include "planner/check/rules.h"
#include "targets/nxdt/nxdt_target.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "targets/registry.h"
#include "text/diagnostic.h"
#include "text/parse.h"

namespace trnplan::api {

namespace {

using targets::Finding;
using targets::Severity;

/// Key of findings on all degrees together, in NxDT's configs.
constexpr const char* kWholeStrategy = "distributed_strategy";

SourcePos place_of(const targets::NxdtConfig& config, std::string_view key) {
  const targets::NxdtKey* leaf = config.find(key);
  return leaf == nullptr ? SourcePos{config.file, 0, 0} : leaf->at;
}

FileAtHand at_hand(const targets::NxdtConfig& config) {
  const SourcePos at = place_of(config, "distributed_strategy.tensor_model_parallel_size");
  return {[at](std::string_view) {
            return planner::KeyPlace{kWholeStrategy, at};
          },
          "",
          config.has_section("model_alignment_strategy.peft") ? "without LoRA, whose memory is not modelled"
                                                              : ""};
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::error; });
}

/// A host runs one process per core. Returns the strategy with the resulting data-parallel degree.
models::Strategy on_all_cores(std::vector<Finding>& findings, const targets::NxdtConfig& config,
                              const targets::NxdtReading& reading, const topology::Cluster& cluster) {
  models::Strategy strategy = reading.strategy;
  const int cores = cluster.instance.host_cores();
  if (cores == reading.devices) return strategy;
  const bool too_many = reading.devices > cores;
  findings.push_back(
      {.rule = "devices",
       .severity = too_many ? Severity::error : Severity::warning,
       .key = "trainer.devices",
       .at = place_of(config, "trainer.devices"),
       .message = fmt::format("{} processes on the {} cores of a {}{}; groups and memory are judged for {}",
                              reading.devices, cores, cluster.instance.hosts > 1 ? "host of a " : "",
                              cluster.instance.name, cores),
       .fix = fmt::format("write devices: {}", cores),
       .source = source_of("strategy", "devices")});
  const std::int64_t left = cluster.cores() / std::max<std::int64_t>(1, strategy.model_parallel());
  strategy.data_parallel = static_cast<int>(std::max<std::int64_t>(1, left));
  return strategy;
}

/// Recommended plan for the training of the config, as changes to it; none if the config cannot express it.
std::optional<targets::NearConfig> recommended_config(const ResolvedJob& resolved, const Predictor& predictor,
                                                      const targets::NxdtConfig& config) {
  models::Job job = resolved.job();
  job.pin = {};
  Recommendation best = predictor.recommend(job, {.layouts = 0, .explain = false, .why_nothing = false});
  const planner::Plan* plan = best.search.recommended_plan();
  if (plan == nullptr || best.stack->stack.target != &targets::nxdt()) return std::nullopt;
  targets::NearConfig near;
  try {
    near.changes = targets::changes_to(planner::as_planned(best.stack->job, *plan), plan->strategy, config,
                                       job.architecture);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  // The cluster is the one that the file states.
  std::erase_if(near.changes, [](const targets::Change& c) { return c.key.starts_with("trainer."); });
  if (near.changes.empty()) return std::nullopt;
  near.plan = *plan;
  near.fit_probability = plan->memory.fit_probability;
  near.recommended = true;
  return near;
}

/// Recommended plan, then the nearest configs that are legal and fit.
void name_nearest(CheckResult& result, const CheckRequest& o, const ResolvedJob& resolved,
                  const Predictor& predictor, const Prediction& p, const models::Strategy& strategy,
                  const targets::NxdtConfig& config) {
  const models::Architecture& architecture = p.job.architecture;
  if (p.judgement.refused()) {
    result.nearest = targets::nearest_that_fit(p.job, strategy, config, architecture, *p.stack->profile);
    for (targets::NearConfig& n : result.nearest) predictor.tell_risk(n.plan, *p.stack);
  }
  if (auto best = recommended_config(resolved, predictor, config)) {
    std::erase_if(result.nearest, [&](const targets::NearConfig& n) {
      return models::canonical(n.plan.strategy) == models::canonical(best->plan.strategy);
    });
    result.nearest.insert(result.nearest.begin(), *std::move(best));
  }
  std::erase_if(result.nearest, [&](const targets::NearConfig& n) {
    return has_errors(
        targets::lint(targets::with_changes(config, n.changes), architecture, o.release, o.version));
  });
}

void judge_on_cluster(CheckResult& result, const CheckRequest& o, const io::Catalog& catalog,
                      const targets::NxdtConfig& config, const models::Architecture& architecture,
                      const targets::NxdtReading& reading) {
  const std::string instance = machine_of(catalog, o.instance, reading.devices, reading.nodes);
  if (instance.empty()) {
    note(result.findings, "instance",
         fmt::format("no instance type of the catalogue has {} cores per node: name one with --instance to "
                     "have groups and memory judged",
                     reading.devices));
    result.no_prediction = "the instance type is not known";
    return;
  }
  if (o.instance.empty()) {
    note(result.findings, "instance", assumed_machine(instance));
  }
  models::Job job;
  job.architecture = architecture;
  job.training = reading.training;
  job.software = reading.software;
  job.software.release = o.release;
  job.software.version = o.version;
  job.cluster.instance = load_instance(catalog, instance);
  job.cluster.instance.chosen = o.paid;
  job.all_reduce = o.all_reduce;
  if (!trains_there(result.findings, targets::nxdt(), job.cluster.instance)) {
    result.no_prediction = "it does not train on this machine";
    return;
  }
  const SourcePos at = place_of(config, targets::kNumNodes);
  job.cluster.nodes = nodes_of(reading.nodes, job.cluster.instance, at, targets::kNumNodes);
  add_other_nodes(result.findings, o, job.cluster.nodes, at, targets::kNumNodes);
  const ResolvedJob resolved = resolved_run(result.findings, o, std::move(job));
  const Predictor predictor(resolved);
  const models::Strategy strategy = on_all_cores(result.findings, config, reading, resolved.job().cluster);
  Prediction p = predictor.predict(resolved.job(), models::canonical(strategy));
  planner::Judgement& judgement = p.judgement;
  for (planner::Violation& v : judgement.broken)
    planner::annotate(v, resolved.observations(), p.job, models::canonical(strategy));
  for (std::string& line : planner::remarks_on(resolved.observations(), p.job, models::canonical(strategy)))
    note(result.findings, "evidence", std::move(line));
  add_violations(result.findings, judgement.broken, at_hand(config));
  const bool doubtful = add_doubts(result.findings, judgement, at_hand(config));
  if ((judgement.refused() || doubtful) && reading.not_modelled.empty())
    if (o.recommends) name_nearest(result, o, resolved, predictor, p, strategy, config);
  result.no_prediction = planner::why_no_plan(judgement);
  if (reading.not_modelled.empty()) result.prediction = std::move(judgement.plan);
  result.stack = p.stack;
  result.job = p.job;
  for (const std::string& feature : reading.not_modelled) result.no_prediction = feature + " is not modelled";
  if (!result.prediction)
    add_memory(result.findings, judgement.memory, resolved.job().cluster.instance, at_hand(config));
}

CheckResult checked(const CheckRequest& o, const io::Catalog& catalog) {
  const std::string text = o.texts.text(o.file);
  const Node root = parse_document(text, o.file);
  if (!targets::looks_like_nxdt(root)) {
    for (const planner::Target* target : targets::all()) {
      if (!target->recognises(root)) continue;
      throw InputError({{o.file, 0, 0},
                        "",
                        fmt::format("this is not an NxDT config but one of {}", target->name()),
                        fmt::format("add --target {} --instance TYPE --nodes N", target->name())});
    }
    throw InputError({{o.file, 0, 0},
                      "",
                      "this is not an NxDT config: it has no trainer and no distributed_strategy",
                      "give the YAML of NxDT's examples/conf; a job.yaml goes to trnplan plan"});
  }
  targets::NxdtConfig config = targets::nxdt_from(root);
  config.devices_lines = targets::devices_lines(text, o.file);
  const int nodes = o.nodes > 0 || config.find(targets::kNumNodes) != nullptr ? o.nodes : o.planned_nodes;
  if (nodes > 0)
    targets::set_nodes(config, nodes * (o.instance.empty() ? 1 : load_instance(catalog, o.instance).hosts));
  const io::ArchitectureReading model = io::architecture_of_nxdt(config, catalog, o.texts);
  const targets::NxdtReading reading = targets::interpret(config, model.architecture);

  CheckResult result;
  result.findings = targets::lint(config, model.architecture, o.release, o.version);
  for (Finding& f : result.findings)
    if (f.source.empty()) f.source = source_of("nxdt", f.rule);
  for (const std::string& remark : model.notes) note(result.findings, "model", remark);
  if (const targets::NxdtKey* stated = config.find(targets::kNumNodes);
      reading.nodes > topology::kMostNodes) {
    throw InputError({stated->at, stated->key, fmt::format("more than {} nodes", topology::kMostNodes),
                      "an UltraCluster holds 30,000 chips; write fewer nodes"});
  }
  if (const targets::NxdtKey* open = targets::unresolved_degree(config)) {
    note(result.findings, "instance",
         printable(open->key) + " cannot be resolved here: degrees, groups and memory are not judged");
    result.no_prediction = printable(open->key) + " cannot be resolved here";
    return result;
  }
  judge_on_cluster(result, o, catalog, config, model.architecture, reading);
  result.text = text;
  result.config = std::move(config);
  return result;
}

std::string verdict_of(const std::vector<Finding>& findings) {
  const auto has = [&](Severity s) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.severity == s; });
  };
  return has(Severity::error) ? "refused" : has(Severity::warning) ? "warn" : "ok";
}

/// A violation by the strategy as a whole is fixed by lines of the file, which CheckResult::nearest lists.
void point_to_nearest(std::vector<Finding>& findings) {
  for (Finding& f : findings) {
    if (f.severity == Severity::error && f.key == kWholeStrategy)
      f.fix = "change the lines that one of the nearest configs below changes";
  }
}

/// Target that the request names, else the target of the file. Throws InputError if the file is something
/// else.
const planner::Target& target_of(const CheckRequest& o) {
  if (!o.target.empty()) return *targets::find(o.target);
  const std::string text = o.texts.text(o.file);
  const planner::Target* target = targets::whose({o.file, text});
  if (target == nullptr) {
    refuse_foreign(text, o.file);
    return targets::nxdt();
  }
  const std::vector<std::string> configs = target->config_names();
  const bool module = o.file.ends_with(".py");
  if (!configs.empty() && !module && !is_document(text, o.file)) {
    throw InputError({{o.file, 0, 0},
                      "",
                      fmt::format("this script starts {}, whose settings are in a config", target->name()),
                      fmt::format("give the config that the script names, such as {}", configs.front())});
  }
  return *target;
}

/// Takes price and network of the machine from the job of a plan on it.
void take_machine(CheckRequest& o, const models::Job& planned) {
  if (o.instance != planned.cluster.instance.name) return;
  o.paid = planned.cluster.instance.chosen;
  o.all_reduce = planned.all_reduce;
}

/// Takes the cluster that the request leaves open from the job of a plan.
void take_cluster(CheckRequest& o, const models::Job& planned) {
  if (o.instance.empty()) o.instance = planned.cluster.instance.name;
  take_machine(o, planned);
  o.planned_nodes = planned.cluster.nodes;
  if (o.release.empty()) o.release = planned.software.release;
}

/// Takes the cluster that the request leaves open from the plan.json next to the file, if that is of the file's target;
/// of a type that is stated its price and its network. Returns its path, "" if it did not state the machine.
std::string take_machine_next_to(CheckRequest& o, const planner::Target& target, const io::Catalog& catalog) {
  const std::filesystem::path next = std::filesystem::path(o.file).replace_filename(io::kPlanFile);
  if (!o.texts.has(next)) return "";
  try {
    const io::PlanFile plan = io::read_plan_file(next, catalog, o.texts);
    if (plan.target != target.name()) return "";
    const bool stated = !o.instance.empty();
    if (stated)
      take_machine(o, plan.job);
    else
      take_cluster(o, plan.job);
    return stated ? "" : next.string();
  } catch (const InputError&) {
    return "";  // of another version, or no plan
  }
}

/// File that the run of a plan --out folder reads, on the cluster of the folder.
CheckRequest of_folder(CheckRequest o, const io::Catalog& catalog) {
  const std::filesystem::path folder = o.file, plan_file = folder / io::kPlanFile;
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return o;
  if (!std::filesystem::exists(plan_file, none)) {
    throw InputError({{o.file, 0, 0},
                      "",
                      "this folder has no plan.json, so plan --out did not write it",
                      "give the config or the script that starts the run"});
  }
  const io::PlanFile plan = io::read_plan_file(plan_file, catalog, o.texts);
  const planner::Target& target = *targets::find(plan.target);
  const std::vector<std::string> configs = target.config_names();
  const bool module = target.command(plan.job, plan.strategy).imports_plan;
  o.file = (folder / (configs.empty() ? "node_run.sh" : module ? configs.back() : configs.front())).string();
  o.target = plan.target;
  take_cluster(o, plan.job);
  return o;
}

}  // namespace

CheckResult check(const CheckRequest& asked) {
  std::vector<Diagnostic> faults;
  const auto version = [&](const char* option, const std::string& text, const char* fix) {
    if (text.empty() || is_version(text)) return;
    faults.push_back({{io::kCommandLine, 0, 0}, option, in_quotes(text) + " is not a version", fix});
  };
  version("--release", asked.release, "write it like 2.28");
  version("--framework-version", asked.version, "write it like 1.6");
  if (!faults.empty()) throw InputError(std::move(faults));
  const io::Catalog catalog = io::Catalog::standard();
  CheckRequest named = asked;
  named.instance = io::whole_name(named.instance, catalog);
  CheckRequest request = of_folder(std::move(named), catalog);
  const planner::Target& target = target_of(request);
  std::string plan_next_to = take_machine_next_to(request, target, catalog);
  CheckResult result =
      &target == &targets::nxdt() ? checked(request, catalog) : checked_run(request, target, catalog);
  result.machine_of = std::move(plan_next_to);
  if (!result.machine_of.empty()) note(result.findings, "instance", machine_next_to(result));
  std::stable_sort(result.findings.begin(), result.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  result.verdict = verdict_of(result.findings);
  if (!result.nearest.empty()) point_to_nearest(result.findings);
  return result;
}

std::string machine_next_to(const CheckResult& checked) {
  const std::string& type = checked.job.cluster.instance.name;
  return fmt::format("{} as in {}; state another with --instance", type.empty() ? "the machine is" : type,
                     printable(checked.machine_of, 200));
}

std::vector<io::NearestJson> with_diffs(std::vector<targets::NearConfig> near, const std::string& text,
                                        const targets::NxdtConfig& config) {
  std::vector<io::NearestJson> all;
  for (targets::NearConfig& n : near) {
    auto edit = io::edit_nxdt(text, config, n.changes);
    if (edit) n.changes = std::move(edit->changed);
    all.push_back({std::move(n), edit ? std::move(edit->diff) : ""});
  }
  std::stable_sort(all.begin(), all.end(), [](const io::NearestJson& a, const io::NearestJson& b) {
    const auto order = [](const targets::NearConfig& n) {
      return std::tuple(!n.recommended, !n.warnings.empty(), n.changes.size(), n.plan.report.step);
    };
    return order(a.config) < order(b.config);
  });
  return all;
}

}  // namespace trnplan::api
