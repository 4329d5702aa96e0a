#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text.h"
#include "io/nxdt_yaml.h"
#include "io/plan_json.h"
#include "io/readers.h"
#include "planner/judge.h"
#include "planner/nxdt_config.h"

namespace trnplan::cli {

namespace {

using planner::Finding;
using planner::Severity;

struct Options {
  Common common;
  std::string yaml, instance, release;
  int nodes = 0;
};

constexpr int kTrn1Devices = 32;

struct Checked {
  std::vector<Finding> findings;
  std::optional<planner::Plan> prediction;
};

void note(std::vector<Finding>& findings, std::string rule, std::string message) {
  findings.push_back({.rule = std::move(rule), .severity = Severity::note, .message = std::move(message)});
}

/// Adds what the rules say about the strategy unless the linter has said it of a key already.
void add_violations(std::vector<Finding>& findings, const std::vector<planner::Violation>& broken,
                    const planner::NxdtConfig& config) {
  const planner::NxdtKey* place = config.find("distributed_strategy.tensor_model_parallel_size");
  for (const planner::Violation& v : broken) {
    const bool known = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
      return f.rule == v.rule && f.severity != Severity::note;
    });
    if (known) continue;
    if (v.rule == "not-modelled") {
      const bool said =
          std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.rule == v.rule; });
      if (!said) note(findings, v.rule, v.message);
      continue;
    }
    findings.push_back({.rule = v.rule,
                        .severity = v.doubtful ? Severity::warning : Severity::error,
                        .key = "distributed_strategy",
                        .at = place == nullptr ? SourcePos{config.file, 0, 0} : place->at,
                        .message = v.message,
                        .fix = v.fix});
  }
}

Checked check(const Options& o, const io::Catalog& catalog, const models::Profile& profile) {
  const io::Node root = io::read_document(o.yaml);
  if (!io::looks_like_nxdt(root)) {
    throw InputError({{o.yaml, 0, 0},
                      "",
                      "this is no NxDT config: it has no trainer and no distributed_strategy",
                      "give the YAML of NxDT's examples/conf; a job.yaml goes to trnplan plan"});
  }
  const planner::NxdtConfig config = io::nxdt_from(root);
  const io::ArchitectureReading model = io::architecture_of_nxdt(config, catalog);
  const planner::NxdtReading reading = planner::interpret(config, model.architecture);

  Checked result;
  result.findings = planner::lint(config, model.architecture);
  for (const std::string& text : model.notes) note(result.findings, "model", text);
  for (const std::string& text : reading.not_modelled)
    note(result.findings, "not-modelled", text + " is not modelled yet");
  if (const planner::NxdtKey* nodes = config.find("trainer.num_nodes");
      reading.nodes > topology::kMostNodes) {
    throw InputError({nodes->at, nodes->key, fmt::format("more than {} nodes", topology::kMostNodes),
                      "an UltraCluster holds 30,000 chips; write fewer nodes"});
  }
  if (o.instance.empty() && reading.devices != kTrn1Devices) {
    note(result.findings, "not-modelled",
         fmt::format("{} devices a node: no instance of the catalogue has these; name one with --instance "
                     "for a prediction",
                     reading.devices));
    return result;
  }

  if (o.instance.empty()) {
    note(result.findings, "instance", "trn1.32xlarge is assumed; --instance names another");
  }
  models::Job job;
  job.architecture = model.architecture;
  job.training = reading.training;
  job.cluster.instance = instance_option(catalog, o.instance.empty() ? "trn1.32xlarge" : o.instance);
  job.cluster.nodes = o.nodes > 0 ? o.nodes : reading.nodes;
  if (!o.release.empty()) job.software = {"nxdt", o.release};
  models::Strategy strategy = reading.strategy;
  if (o.nodes > 0) {
    const std::int64_t left = job.cluster.cores() / std::max<std::int64_t>(1, strategy.model_parallel());
    strategy.data_parallel = static_cast<int>(std::max<std::int64_t>(1, left));
  }
  planner::Judgement judgement = planner::judge(job, models::canonical(strategy), profile);
  add_violations(result.findings, judgement.broken, config);
  if (reading.not_modelled.empty()) result.prediction = std::move(judgement.plan);
  return result;
}

std::string verdict_of(const std::vector<Finding>& findings) {
  const auto has = [&](Severity s) {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.severity == s; });
  };
  return has(Severity::error) ? "refused" : has(Severity::warning) ? "warn" : "ok";
}

int run(const Options& o) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = load_profile(catalog, o.common);
  Checked checked = check(o, catalog, profile);
  std::stable_sort(checked.findings.begin(), checked.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.severity < b.severity; });
  const std::string verdict = verdict_of(checked.findings);
  const planner::Plan* prediction = checked.prediction ? &*checked.prediction : nullptr;
  if (o.common.json()) {
    print(io::check_json(verdict, checked.findings, prediction));
  } else {
    std::string text = findings_text(checked.findings);
    if (prediction != nullptr) {
      text += fmt::format("\nPrediction on {} x {}: {}\n", prediction->nodes, prediction->instance,
                          describe(prediction->strategy)) +
              plan_details(*prediction);
    }
    print(text + "\nverdict: " + verdict + "\n");
  }
  return verdict == "refused" ? kNoPlan : kDone;
}

}  // namespace

void add_check(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("check", "Lint an NxDT YAML, judge its replica groups and memory, predict its step");
  command->add_option("config", o->yaml, "NxDT YAML")->required();
  command->add_option("--nodes", o->nodes, "nodes, instead of trainer.num_nodes")
      ->check(CLI::Range(1, topology::kMostNodes));
  command->add_option("--instance", o->instance, "instance type; trn1.32xlarge when devices is 32");
  command->add_option("--release", o->release,
                      "Neuron SDK release the config runs on, for a narrower interval");
  add_common(*command, o->common);
  command->footer(
      "Exit code 3 when the config is refused.\n"
      "Examples:\n"
      "  trnplan check nxdt.yaml\n"
      "  trnplan check nxdt.yaml --nodes 4 --format json");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
