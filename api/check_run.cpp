#include "api/check_run.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "api/check_findings.h"
#include "api/inputs.h"
#include "api/predictor.h"
#include "io/input/readers.h"
#include "models/framework/framework.h"
#include "targets/registry.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::api {

using targets::Finding;
using targets::Severity;

namespace {

/// The base of their rotary positions does not matter.
bool same_shape(const models::Architecture& a, const models::Architecture& b) {
  return a.layers == b.layers && a.hidden == b.hidden && a.intermediate == b.intermediate &&
         a.heads == b.heads && a.kv_heads == b.kv_heads;
}

/// Catalogue's name of a model that a file names; "llama3-1-8b" is llama3.1-8b.
std::optional<std::string> named_model(const std::string& name, const io::Catalog& catalog) {
  const auto digit = [&](std::size_t i) { return name[i] >= '0' && name[i] <= '9'; };
  if (auto known = io::known_model(name, catalog)) return known;
  for (std::size_t i = 1; i + 1 < name.size(); ++i) {
    if (name[i] != '-' || !digit(i - 1) || !digit(i + 1)) continue;
    std::string other = name;
    other[i] = '.';
    if (auto known = io::known_model(other, catalog)) return known;
  }
  return std::nullopt;
}

/// A script's line does not state the size of the vocabulary. It comes from the config.json in the same
/// folder, or from a model of the catalogue, of the same shape.
void take_vocabulary(models::Architecture& a, const models::Architecture* config, const io::Catalog& catalog,
                     std::vector<Finding>& findings, const std::string& file) {
  if (a.vocabulary > 0) return;
  if (config != nullptr && same_shape(*config, a)) {
    a.vocabulary = config->vocabulary;
    note(findings, "model", fmt::format("the vocabulary is that of config.json: {}", a.vocabulary));
    return;
  }
  const auto take = [&](const std::string& name) {
    const models::Architecture known = catalog.architecture(name);
    if (!same_shape(known, a)) return false;
    a.vocabulary = known.vocabulary;
    a.name = known.name;
    note(findings, "model",
         fmt::format("the vocabulary is assumed to be that of {}: {}", name, known.vocabulary));
    return true;
  };
  if (const auto named = named_model(a.name, catalog); named && take(*named)) return;
  for (const std::string& name : catalog.models()) {
    if (catalog.architecture(name).rope_theta == a.rope_theta && take(name)) return;
  }
  throw InputError(
      {{file, 0, 0},
       "",
       "the vocabulary is not stated, and no model of the catalogue has this shape",
       "state the size of the tokenizer's vocabulary, or put the model's config.json next to the file"});
}

/// Adds the faults. True if one of them leaves the meaning of the file open.
bool add_start_faults(std::vector<Finding>& findings, std::vector<planner::StartFault> faults) {
  bool refused = false;
  for (planner::StartFault& f : faults) {
    refused = refused || !(f.doubtful || f.understood);
    if (f.understood) note(findings, "flags", "predicted as if fixed: " + f.what.fix);
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

/// Further faults found by the reader of a refused file, so that all are reported at once.
void add_unreadable(std::vector<Finding>& findings, const planner::Target& target,
                    const planner::ConfigFile& file, int ranks, const models::Architecture* config) {
  try {
    (void)target.read_run(file, ranks, config);
  } catch (const InputError& e) {
    for (const Diagnostic& d : e.faults()) {
      const bool said = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
        return f.key == d.key || (f.message == d.problem && f.at.line == d.at.line);
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

/// Model in a config.json in the file's folder; nullopt if there is none, or if it describes no model.
std::optional<models::Architecture> model_beside(const CheckRequest& o) {
  const std::filesystem::path config = std::filesystem::path(o.file).parent_path() / "config.json";
  if (!o.texts.has(config)) return std::nullopt;
  try {
    return io::read_hf_config(config, o.texts).architecture;
  } catch (const InputError&) {
    return std::nullopt;  // other programs have files of that name too
  }
}

}  // namespace

CheckResult checked_run(const CheckRequest& o, const planner::Target& target, const io::Catalog& catalog) {
  CheckResult result;
  result.text = o.texts.text(o.file);
  result.config.file = o.file;
  const std::optional<int> launched = target.nodes_of({o.file, result.text, 0, o.environment});
  if (o.instance.empty()) {
    throw InputError({{"command line", 0, 0},
                      "--instance",
                      fmt::format("a file of {} does not state the machine it runs on", target.name()),
                      launched ? fmt::format("state it: --instance p5.48xlarge --nodes {}", *launched)
                               : "state it, and how many: --instance p5.48xlarge --nodes N"});
  }
  models::Job job;
  job.cluster.instance = load_instance(catalog, o.instance);
  job.cluster.instance.chosen = o.paid;
  job.all_reduce = o.all_reduce;
  if (!trains_there(result.findings, target, job.cluster.instance)) {
    result.no_prediction = "it does not train on this machine";
    return result;
  }
  job.cluster.nodes = o.nodes > 0 ? o.nodes
                      : launched  ? nodes_of(*launched, job.cluster.instance, {o.file, 0, 0}, "--nnodes")
                                  : std::max(1, o.planned_nodes);
  add_other_nodes(result.findings, o, job.cluster.nodes, {o.file, 0, 0}, "--nnodes");
  if (const int hosts = static_cast<int>(job.cluster.hosts()); o.nodes > 0 && launched && *launched != hosts)
    result.findings.push_back(
        {.rule = "instance",
         .severity = Severity::warning,
         .key = "--nnodes",
         .at = {o.file, 0, 0},
         .message = fmt::format("the file starts on {}, --nodes says {}, for which it is judged",
                                counted(*launched, "host"), hosts),
         .fix = "leave --nodes out, or write that number into the file"});
  if (o.nodes <= 0 && o.planned_nodes <= 0) {
    note(result.findings, "instance",
         (launched ? "as the file says: " : "assumed: ") +
             fmt::format("{} x {}; state others with --nodes", job.cluster.nodes, job.cluster.instance.name));
  }
  const std::optional<models::Architecture> found = model_beside(o);
  const models::Architecture* config = found ? &*found : nullptr;
  const planner::ConfigFile file{o.file, result.text, static_cast<int>(job.cluster.hosts()), o.environment};
  if (add_start_faults(result.findings, target.start_faults(file, job.cluster))) {
    add_unreadable(result.findings, target, file, static_cast<int>(job.cluster.cores()), config);
    result.no_prediction = fmt::format("{} refuses the file when it starts", target.name());
    return result;
  }
  auto run = target.read_run(file, static_cast<int>(job.cluster.cores()), config);
  if (!run) {
    throw InputError({{"command line", 0, 0},
                      "--target",
                      fmt::format("files of {} are not read", target.name()),
                      "give the config or the script that starts its run"});
  }
  if (!run->unmodelled.empty()) {
    result.no_prediction = run->unmodelled + ", which is not modelled";
    result.findings.push_back({.rule = "not-modelled",
                               .severity = Severity::warning,
                               .message = "degrees, memory and groups were not judged"});
    return result;
  }
  if (const models::Framework& loop = models::framework_of(run->config.strategy);
      !loop.trains_on(job.cluster.instance.traits))
    run->config.not_modelled.push_back(fmt::format("{} on {}", loop.name(), o.instance));
  take_vocabulary(run->architecture, config, catalog, result.findings, o.file);
  for (std::string& text : run->notes) note(result.findings, "flags", std::move(text));
  for (Diagnostic& d : run->doubts) {
    result.findings.push_back({.rule = "flags",
                               .severity = Severity::warning,
                               .key = std::move(d.key),
                               .at = std::move(d.at),
                               .message = std::move(d.problem),
                               .fix = std::move(d.fix)});
  }
  result.not_judged = run->not_judged;
  job.architecture = run->architecture;
  job.training = run->config.training;
  job.software = run->config.software;
  job.software.release = o.release;
  if (job.software.framework.empty()) job.software.framework = target.name();
  const ResolvedJob resolved = resolved_run(result.findings, o, std::move(job));
  Prediction p = Predictor(resolved).predict(resolved.job(), models::canonical(run->config.strategy));
  planner::Judgement& judgement = p.judgement;
  const FileAtHand at_hand{[&](std::string_view rule) { return target.place_of(file, rule); },
                           target.framework()};
  add_violations(result.findings, judgement.broken, at_hand);
  add_doubts(result.findings, judgement, at_hand);
  result.no_prediction = planner::why_no_plan(judgement);
  if (run->config.not_modelled.empty()) result.prediction = std::move(judgement.plan);
  result.stack = p.stack;
  result.job = p.job;
  for (const std::string& feature : run->config.not_modelled)
    result.no_prediction = feature + " is not modelled";
  if (!result.prediction)
    add_memory(result.findings, judgement.memory, resolved.job().cluster.instance, at_hand);
  return result;
}

}  // namespace trnplan::api
