#include "api/check.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "api/foreign_files.h"
#include "api/predictor.h"
#include "io/input/nxdt_edit.h"
#include "io/input/readers.h"
#include "models/framework/framework.h"
#include "planner/check/rules.h"
#include "targets/nxdt/nxdt_target.h"
#include "targets/nxdt/nxdt_yaml.h"
#include "targets/registry.h"
#include "text/diagnostic.h"

namespace trnplan::api {

namespace {

using targets::Finding;
using targets::Severity;

/// The key of findings that are about all degrees together, in NxDT's configs.
constexpr const char* kWholeStrategy = "distributed_strategy";

/// The key of the file at hand that a rule of strategies is about, and where it stands.
using PlaceOf = std::function<planner::KeyPlace(std::string_view rule)>;

void note(std::vector<Finding>& findings, std::string rule, std::string message) {
  findings.push_back({.rule = std::move(rule), .severity = Severity::note, .message = std::move(message)});
}

SourcePos place_of(const targets::NxdtConfig& config, std::string_view key) {
  const targets::NxdtKey* leaf = config.find(key);
  return leaf == nullptr ? SourcePos{config.file, 0, 0} : leaf->at;
}

PlaceOf places_in(const targets::NxdtConfig& config) {
  const SourcePos at = place_of(config, "distributed_strategy.tensor_model_parallel_size");
  return [at](std::string_view) { return planner::KeyPlace{kWholeStrategy, at}; };
}

bool says(const std::vector<Finding>& findings, std::string_view rule, bool notes_count) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    return f.rule == rule && (notes_count || f.severity != Severity::note);
  });
}

/// Adds what the rules say about the strategy unless the linter has said it of a key already. `lora`: the
/// memory is that of training every weight, so it proves nothing.
void add_violations(std::vector<Finding>& findings, const std::vector<planner::Violation>& broken,
                    const PlaceOf& place_of_rule, bool lora) {
  for (const planner::Violation& v : broken) {
    if (says(findings, v.rule, v.rule == "not-modelled")) continue;
    if (v.rule == "not-modelled") {
      note(findings, v.rule, v.message);
      continue;
    }
    const bool loose = v.rule == "memory" && lora;
    planner::KeyPlace place = place_of_rule(v.rule);
    findings.push_back(
        {.rule = v.rule,
         .severity = loose        ? Severity::note
                     : v.doubtful ? Severity::warning
                                  : Severity::error,
         .key = std::move(place.key),
         .at = std::move(place.at),
         .message = loose ? "without LoRA, whose memory is not modelled: " + v.message : v.message,
         .fix = v.fix,
         .source = std::string(planner::source_of(v.rule))});
  }
}

bool has_errors(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& f) { return f.severity == Severity::error; });
}

/// A config without a prediction still shows that it fits.
void add_memory(std::vector<Finding>& findings, const std::optional<models::Memory>& memory,
                const topology::Instance& instance, const PlaceOf& place_of_rule) {
  if (!memory || !memory->fits()) return;
  planner::KeyPlace place = place_of_rule("memory");
  findings.push_back({.rule = "memory",
                      .severity = Severity::note,
                      .key = std::move(place.key),
                      .at = std::move(place.at),
                      .message = "fits: " + planner::memory_message(*memory, instance.traits.accelerator),
                      .source = std::string(planner::source_of("memory"))});
}

/// Nodes of the catalogue for hosts that a file counts. Throws InputError where they make no whole nodes.
int nodes_of(int hosts, const topology::Instance& machine, const SourcePos& at, const std::string& key) {
  if (hosts % machine.hosts == 0) return hosts / machine.hosts;
  throw InputError(
      Diagnostic{at, key, fmt::format("{} hosts, and a {} is {}", hosts, machine.name, machine.hosts),
                 fmt::format("write a multiple of {}, or name another --instance", machine.hosts)});
}

/// `--nodes` replaces trainer.num_nodes, as train.sh does.
void set_nodes(targets::NxdtConfig& config, int nodes) {
  for (targets::NxdtKey& leaf : config.keys) {
    if (leaf.key != "trainer.num_nodes") continue;
    leaf.text = std::to_string(nodes);
    leaf.quoted = false;
    return;
  }
  config.keys.push_back({"trainer.num_nodes", std::to_string(nodes), false, {config.file, 0, 0}});
}

/// A host runs one process for each core. Returns the strategy with the data-parallel degree that follows.
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
       .source = std::string(planner::source_of("devices"))});
  const std::int64_t left = cluster.cores() / std::max<std::int64_t>(1, strategy.model_parallel());
  strategy.data_parallel = static_cast<int>(std::max<std::int64_t>(1, left));
  return strategy;
}

/// What the prediction rests on, as findings.
ResolvedJob resolved_run(std::vector<Finding>& findings, const CheckRequest& o, models::Job job) {
  Remarks remarks;
  ResolvedJob resolved = resolve(std::move(job), {{.job = o.file}, o.target, o.profile},
                                 {.one_strategy = true, .refuses = false}, remarks);
  for (const Remark& remark : remarks.all()) {
    if (const auto* text = std::get_if<std::string>(&remark)) note(findings, "profile", *text);
  }
  return resolved;
}

/// A strategy that no rule refuses, but of which it is doubtful that it compiles or fits; each of the two once, whoever
/// says it. True where there is a doubt.
bool add_doubts(std::vector<Finding>& findings, const planner::Judgement& judgement,
                const PlaceOf& place_of_rule) {
  if (!judgement.plan || judgement.refused()) return false;
  const std::size_t before = findings.size();
  const auto doubt = [&](const char* rule, const char* what, const std::optional<double>& probability,
                         const char* fix) {
    if (!probability || *probability >= planner::kSureRun || says(findings, rule, false)) return;
    planner::KeyPlace place = place_of_rule(rule);
    findings.push_back({.rule = rule,
                        .severity = Severity::warning,
                        .key = std::move(place.key),
                        .at = std::move(place.at),
                        .message = fmt::format("{} with probability {:.0f} % only", what, 100 * *probability),
                        .fix = fix,
                        .source = std::string(planner::source_of(rule))});
  };
  doubt("memory", "it fits into memory", judgement.plan->fits, "recompute more, or raise TP or PP");
  doubt("graph", "its largest graph compiles", judgement.plan->compiles,
        "raise TP or PP, or take a smaller micro-batch");
  return findings.size() > before;
}

/// The plan that is recommended for what the config trains, as changes to it; none where it cannot be said so.
std::optional<targets::NearConfig> recommended_config(const ResolvedJob& resolved, const Predictor& predictor,
                                                      const targets::NxdtConfig& config) {
  models::Job job = resolved.job();
  job.pin = {};
  Recommendation best = predictor.recommend(job, {.layouts = 0, .explain = false, .why_nothing = false});
  const planner::Plan* plan = best.search.recommended_plan();
  if (plan == nullptr || best.stack->stack.target != &targets::nxdt()) return std::nullopt;
  targets::NearConfig near;
  try {
    near.changes = targets::changes_to(planner::settled(best.stack->job, *plan), plan->strategy, config,
                                       job.architecture);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
  // The cluster is what the file says it is.
  std::erase_if(near.changes, [](const targets::Change& c) { return c.key.starts_with("trainer."); });
  if (near.changes.empty()) return std::nullopt;
  near.plan = *plan;
  near.fit_probability = plan->memory.fit_probability;
  near.recommended = true;
  return near;
}

/// The plan that is recommended, then the nearest configs that are legal and fit.
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
  const std::string instance =
      o.instance.empty() ? catalog.instance_of_ranks(reading.devices, reading.nodes > 1) : o.instance;
  if (instance.empty()) {
    note(result.findings, "instance",
         fmt::format("no instance type of the catalogue has {} cores a node: name one with --instance for a "
                     "judgement of groups and memory",
                     reading.devices));
    result.no_prediction = "the instance type is not known";
    return;
  }
  if (o.instance.empty()) {
    note(result.findings, "instance", instance + " is assumed; --instance names another");
  }
  models::Job job;
  job.architecture = architecture;
  job.training = reading.training;
  job.software = reading.software;
  job.software.release = o.release;
  job.software.version = o.version;
  job.cluster.instance = load_instance(catalog, instance);
  const targets::NxdtKey* stated_nodes = config.find("trainer.num_nodes");
  job.cluster.nodes = nodes_of(reading.nodes, job.cluster.instance,
                               stated_nodes == nullptr ? SourcePos{config.file, 0, 0} : stated_nodes->at,
                               "trainer.num_nodes");
  const ResolvedJob resolved = resolved_run(result.findings, o, std::move(job));
  const Predictor predictor(resolved);
  const models::Strategy strategy = on_all_cores(result.findings, config, reading, resolved.job().cluster);
  Prediction p = predictor.predict(resolved.job(), models::canonical(strategy));
  planner::Judgement& judgement = p.judgement;
  for (planner::Violation& v : judgement.broken)
    planner::annotate(v, resolved.observations(), p.job, models::canonical(strategy));
  for (std::string& line : planner::remarks_on(resolved.observations(), p.job, models::canonical(strategy)))
    note(result.findings, "evidence", std::move(line));
  add_violations(result.findings, judgement.broken, places_in(config),
                 config.has_section("model_alignment_strategy.peft"));
  const bool doubtful = add_doubts(result.findings, judgement, places_in(config));
  if ((judgement.refused() || doubtful) && reading.not_modelled.empty())
    name_nearest(result, o, resolved, predictor, p, strategy, config);
  result.no_prediction = planner::why_no_plan(judgement);
  if (reading.not_modelled.empty()) result.prediction = std::move(judgement.plan);
  for (const std::string& feature : reading.not_modelled) result.no_prediction = feature + " is not modelled";
  if (!result.prediction)
    add_memory(result.findings, judgement.memory, resolved.job().cluster.instance, places_in(config));
}

CheckResult checked(const CheckRequest& o, const io::Catalog& catalog) {
  const std::string text = o.texts.text(o.file);
  const Node root = parse_document(text, o.file);
  if (!targets::looks_like_nxdt(root)) {
    for (const planner::Target* target : targets::all()) {
      if (!target->recognises(root)) continue;
      throw InputError({{o.file, 0, 0},
                        "",
                        fmt::format("this is no NxDT config, but one of {}", target->name()),
                        fmt::format("add --target {} --instance TYPE --nodes N", target->name())});
    }
    throw InputError({{o.file, 0, 0},
                      "",
                      "this is no NxDT config: it has no trainer and no distributed_strategy",
                      "give the YAML of NxDT's examples/conf; a job.yaml goes to trnplan plan"});
  }
  targets::NxdtConfig config = targets::nxdt_from(root);
  config.devices_lines = targets::devices_lines(text, o.file);
  if (o.nodes > 0)
    set_nodes(config, o.nodes * (o.instance.empty() ? 1 : load_instance(catalog, o.instance).hosts));
  const io::ArchitectureReading model = io::architecture_of_nxdt(config, catalog, o.texts);
  const targets::NxdtReading reading = targets::interpret(config, model.architecture);

  CheckResult result;
  result.findings = targets::lint(config, model.architecture, o.release, o.version);
  for (const std::string& remark : model.notes) note(result.findings, "model", remark);
  if (const targets::NxdtKey* nodes = config.find("trainer.num_nodes");
      reading.nodes > topology::kMostNodes) {
    throw InputError({nodes->at, nodes->key, fmt::format("more than {} nodes", topology::kMostNodes),
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

bool same_shape(const models::Architecture& a, const models::Architecture& b) {
  return a.layers == b.layers && a.hidden == b.hidden && a.intermediate == b.intermediate &&
         a.heads == b.heads && a.kv_heads == b.kv_heads && a.rope_theta == b.rope_theta;
}

/// A script's line does not say how large the vocabulary is: that of the config.json beside it, or of a catalogued model,
/// of the same shape.
void take_vocabulary(models::Architecture& a, const models::Architecture* beside, const io::Catalog& catalog,
                     std::vector<Finding>& findings, const std::string& file) {
  if (a.vocabulary > 0) return;
  if (beside != nullptr && same_shape(*beside, a)) {
    a.vocabulary = beside->vocabulary;
    note(findings, "model", fmt::format("the vocabulary is that of config.json: {}", a.vocabulary));
    return;
  }
  std::vector<std::string> names = catalog.models();
  // The one that the file names comes first, whatever base its rotary positions have.
  const std::optional<std::string> named = io::known_model(a.name, catalog);
  if (named) names.insert(names.begin(), *named);
  for (const std::string& name : names) {
    models::Architecture known = catalog.architecture(name);
    if (name == named) known.rope_theta = a.rope_theta;
    if (!same_shape(known, a)) continue;
    a.vocabulary = known.vocabulary;
    a.name = known.name;
    note(findings, "model",
         fmt::format("the vocabulary is taken for that of {}: {}", name, known.vocabulary));
    return;
  }
  throw InputError({{file, 0, 0},
                    "--vocab-size",
                    "the vocabulary is not stated, and no model of the catalogue has this shape",
                    "state what the tokenizer would say, or put the model's config.json beside the file"});
}

/// True where one of them leaves open what the file means.
bool add_start_faults(std::vector<Finding>& findings, std::vector<planner::StartFault> faults) {
  bool refused = false;
  for (planner::StartFault& f : faults) {
    refused = refused || !(f.doubtful || f.understood);
    if (f.understood) note(findings, "flags", "predicted as with its fix: " + f.what.fix);
    findings.push_back({.rule = std::move(f.rule),
                        .severity = f.doubtful ? Severity::warning : Severity::error,
                        .key = std::move(f.what.key),
                        .at = std::move(f.what.at),
                        .message = std::move(f.what.problem),
                        .fix = std::move(f.what.fix),
                        .source = std::move(f.source)});
  }
  return refused;
}

/// What the reader of a file that is refused finds besides, so that all is said at once.
void add_unreadable(std::vector<Finding>& findings, const planner::Target& target,
                    const planner::ConfigFile& file, int ranks, const models::Architecture* beside) {
  try {
    (void)target.read_run(file, ranks, beside);
  } catch (const InputError& e) {
    for (const Diagnostic& d : e.faults()) {
      const bool said = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
        return f.key == d.key || f.message == d.problem;
      });
      if (said) continue;
      findings.push_back({.rule = "value",
                          .severity = Severity::error,
                          .key = d.key,
                          .at = d.at,
                          .message = d.problem,
                          .fix = d.fix});
    }
  }
}

/// What a config.json beside the file says of the model; nullopt where there is none.
std::optional<models::Architecture> model_beside(const CheckRequest& o) {
  const std::filesystem::path beside = std::filesystem::path(o.file).parent_path() / "config.json";
  if (!o.texts.has(beside)) return std::nullopt;
  return io::read_hf_config(beside, o.texts).architecture;
}

/// What another target's file describes, judged on the cluster that the request names.
CheckResult checked_run(const CheckRequest& o, const planner::Target& target, const io::Catalog& catalog) {
  CheckResult result;
  result.text = o.texts.text(o.file);
  result.config.file = o.file;
  const std::optional<int> launched = target.nodes_of({o.file, result.text, 0, o.environment});
  if (o.instance.empty()) {
    throw InputError({{"command line", 0, 0},
                      "--instance",
                      fmt::format("a file of {} does not say which machine it runs on", target.name()),
                      launched ? fmt::format("name it: --instance p5.48xlarge --nodes {}", *launched)
                               : "name it, and how many: --instance p5.48xlarge --nodes N"});
  }
  models::Job job;
  job.cluster.instance = load_instance(catalog, o.instance);
  job.cluster.nodes = o.nodes > 0 ? o.nodes
                      : launched  ? nodes_of(*launched, job.cluster.instance, {o.file, 0, 0}, "--nnodes")
                                  : 1;
  if (o.nodes <= 0) {
    note(result.findings, "instance",
         launched ? fmt::format("{} nodes, as the file says; --nodes takes others", *launched)
                  : std::string("one node is assumed; --nodes takes others"));
  }
  const std::optional<models::Architecture> found = model_beside(o);
  const models::Architecture* beside = found ? &*found : nullptr;
  const planner::ConfigFile file{o.file, result.text, static_cast<int>(job.cluster.hosts()), o.environment};
  if (add_start_faults(result.findings, target.start_faults(file, job.cluster))) {
    add_unreadable(result.findings, target, file, static_cast<int>(job.cluster.cores()), beside);
    result.no_prediction = fmt::format("{} refuses the file at its start", target.name());
    return result;
  }
  auto run = target.read_run(file, static_cast<int>(job.cluster.cores()), beside);
  if (!run) {
    throw InputError({{"command line", 0, 0},
                      "--target",
                      fmt::format("files of {} are not read", target.name()),
                      "check what NxDT, megatron or torchtitan runs with"});
  }
  if (!target.trains_on(job.cluster.instance.traits)) {
    result.findings.push_back({.rule = "instance",
                               .severity = Severity::error,
                               .key = "--instance",
                               .message = fmt::format("{} does not train on {}", target.name(), o.instance),
                               .fix = "name a machine that it is for"});
  }
  if (!run->unmodelled.empty()) {
    result.no_prediction = run->unmodelled + ", which is not modelled";
    return result;
  }
  if (const models::Framework& loop = models::framework_of(run->config.strategy);
      target.trains_on(job.cluster.instance.traits) && !loop.trains_on(job.cluster.instance.traits))
    run->config.not_modelled.push_back(fmt::format("{} on {}", loop.name(), o.instance));
  take_vocabulary(run->architecture, beside, catalog, result.findings, o.file);
  for (std::string& text : run->notes) note(result.findings, "flags", std::move(text));
  job.architecture = run->architecture;
  job.training = run->config.training;
  job.software = run->config.software;
  job.software.release = o.release;
  if (job.software.framework.empty()) job.software.framework = target.name();
  const ResolvedJob resolved = resolved_run(result.findings, o, std::move(job));
  Prediction p = Predictor(resolved).predict(resolved.job(), models::canonical(run->config.strategy));
  planner::Judgement& judgement = p.judgement;
  const PlaceOf places = [&](std::string_view rule) { return target.place_of(file, rule); };
  add_violations(result.findings, judgement.broken, places, false);
  add_doubts(result.findings, judgement, places);
  result.no_prediction = planner::why_no_plan(judgement);
  if (run->config.not_modelled.empty()) result.prediction = std::move(judgement.plan);
  for (const std::string& feature : run->config.not_modelled)
    result.no_prediction = feature + " is not modelled";
  if (!result.prediction)
    add_memory(result.findings, judgement.memory, resolved.job().cluster.instance, places);
  return result;
}

std::string verdict_of(const std::vector<Finding>& findings) {
  const auto has = [&](Severity s) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.severity == s; });
  };
  return has(Severity::error) ? "refused" : has(Severity::warning) ? "warn" : "ok";
}

/// What a strategy as a whole breaks is mended by lines of the file, which CheckResult::nearest shows.
void point_to_nearest(std::vector<Finding>& findings) {
  for (Finding& f : findings) {
    if (f.severity == Severity::error && f.key == kWholeStrategy)
      f.fix = "change the lines that one of the nearest configs changes";
  }
}

/// The one that is named; else by what the file is. Throws InputError where it is something else.
const planner::Target& target_of(const CheckRequest& o) {
  if (!o.target.empty()) return *targets::find(o.target);
  const std::string text = o.texts.text(o.file);
  if (const planner::Target* target = targets::whose({o.file, text})) return *target;
  refuse_foreign(text, o.file);
  return targets::nxdt();
}

}  // namespace

CheckResult check(const CheckRequest& request) {
  const io::Catalog catalog = io::Catalog::standard();
  const planner::Target& target = target_of(request);
  CheckResult result =
      &target == &targets::nxdt() ? checked(request, catalog) : checked_run(request, target, catalog);
  std::stable_sort(result.findings.begin(), result.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  result.verdict = verdict_of(result.findings);
  if (!result.nearest.empty()) point_to_nearest(result.findings);
  return result;
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
