#include <CLI/CLI.hpp>
#include <chrono>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text.h"
#include "io/atomic_write.h"
#include "io/plan_json.h"
#include "io/readers.h"
#include "launch/bundle.h"
#include "planner/rules.h"
#include "planner/search.h"
#include "units/diagnostic.h"

namespace trnplan::cli {

namespace {

struct Options {
  Common common;
  std::string job, out, target = "nxdt";
  int nodes = 0, top = 5;
  bool allow_doubtful = false, force = false;
};

std::string result_text(const models::Job& job, const planner::SearchResult& result) {
  std::string text = job_line(job);
  if (result.plans.empty()) {
    text += "\n" + infeasible_text(job, *result.infeasible);
  } else {
    const planner::Plan& winner = result.plans.front();
    text += "\n" + plan_table(result.plans);
    if (result.layouts.size() > 1) text += "\nBest of each layout:\n" + plan_table(result.layouts);
    text += fmt::format("\nWinner: {}\n", describe(winner.strategy)) + plan_details(winner);
    for (std::size_t i = 1; i < result.layouts.size() && i < 3; ++i)
      text += comparison(winner, result.layouts[i]);
  }
  text +=
      refusals(result.refused, result.plans.empty() ? "Refused:" : "Refused although it could be faster:");
  text += refusals(result.doubtful, "Doubtful, left out (--allow-doubtful lets them in):");
  const planner::SpaceCounts& c = result.counts;
  return text +
         fmt::format("\n{} strategies: {} refused, {} too large, {} beaten by their bound, {} simulated\n",
                     c.enumerated, c.refused, c.too_large, c.bounded, c.simulated);
}

/// The key of the job that a rule is about, first the one that is set.
std::string key_of(const std::string& rule, const io::JobReading& reading) {
  static const std::map<std::string, std::vector<std::string>> kKeys = {
      {"heads", {"pin.tensor_parallel"}},
      {"vocabulary", {"pin.tensor_parallel"}},
      {"rank-order", {"pin.tensor_parallel"}},
      {"kv-replicator", {"pin.kv_replicator", "pin.tensor_parallel"}},
      {"layers", {"pin.pipeline_parallel", "pin.virtual_pipeline"}},
      {"pipeline-parity", {"pin.pipeline_parallel"}},
      {"tied-embeddings", {"pin.pipeline_parallel"}},
      {"interleaved", {"pin.virtual_pipeline"}},
      {"context-parallel", {"pin.context_parallel"}},
      {"moe", {"pin.expert_parallel"}},
      {"sequence-parallel", {"pin.sequence_parallel", "training.sequence"}},
      {"flash-attention", {"training.sequence"}},
      {"positions", {"training.sequence"}},
      {"divisibility",
       {"pin.tensor_parallel", "pin.pipeline_parallel", "pin.data_parallel", "pin.context_parallel"}}};
  const auto it = kKeys.find(rule);
  if (it == kKeys.end()) return "";
  for (const std::string& key : it->second) {
    if (reading.places.count(key) > 0) return key;
  }
  return "";
}

/// A job that no choice can make legal is wrong input, not a search without result.
void refuse_contradictions(const Options& o, const io::JobReading& reading) {
  std::vector<Diagnostic> faults;
  for (const planner::Violation& v : planner::contradictions(reading.job)) {
    const std::string key = key_of(v.rule, reading);
    const auto place = reading.places.find(key);
    faults.push_back({place == reading.places.end() ? SourcePos{o.job, 0, 0} : place->second, key,
                      v.message + " (rule " + v.rule + ")", v.fix});
  }
  if (!faults.empty()) throw InputError(std::move(faults));
}

void write_bundle(const models::Job& job, const planner::Plan& plan, const Options& o) {
  std::vector<io::OutputFile> files;
  try {
    files = launch::bundle(job, plan, *launch::target_from(o.target));
  } catch (const std::invalid_argument& e) {
    throw InputError({{o.job, 0, 0},
                      "--out",
                      e.what(),
                      "pin what --target can express, choose another --target, or leave --out away"});
  }
  io::write_files(o.out, files, o.force);
  for (const io::OutputFile& f : files) remark("wrote " + (std::filesystem::path(o.out) / f.name).string());
}

int run(const Options& o) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = load_profile(catalog, o.common);
  io::JobReading reading = io::read_job(o.job, catalog);
  remarks(reading.notes);
  if (o.nodes > 0) reading.job.cluster.nodes = o.nodes;
  refuse_contradictions(o, reading);

  const auto start = std::chrono::steady_clock::now();
  const planner::SearchResult result =
      planner::search(reading.job, profile, {.top = o.top, .allow_doubtful = o.allow_doubtful});
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  if (!result.plans.empty()) remark_family(catalog, profile, reading.job.cluster.instance);
  if (!o.out.empty() && !result.plans.empty()) write_bundle(reading.job, result.plans.front(), o);
  print(o.common.json() ? io::search_json(result, reading.job, wall.count())
                        : result_text(reading.job, result));
  return result.plans.empty() ? kNoPlan : kDone;
}

}  // namespace

void add_plan(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plan", "Find the fastest strategies of a job and why others were refused");
  command->add_option("job", o->job, "job.yaml")->required();
  command->add_option("--nodes", o->nodes, "nodes, instead of the job's")
      ->check(CLI::Range(1, topology::kMostNodes));
  command->add_option("--top", o->top, "plans to list")->check(CLI::Range(1, 1000))->capture_default_str();
  command->add_flag("--allow-doubtful", o->allow_doubtful,
                    "also strategies whose replica groups are doubtful");
  command
      ->add_option(
          "--out", o->out,
          "folder to write to: config and scripts for Slurm and Kubernetes, cluster files, plan.json")
      ->check(not_empty());
  command->add_option("--target", o->target, "what --out is to train with: nxdt, nemo-megatron or nxd")
      ->check(CLI::IsMember({"nxdt", "nemo-megatron", "nxd"}))
      ->capture_default_str();
  command->add_flag("--force", o->force, "overwrite files in --out");
  add_common(*command, o->common);
  command->footer(
      "Examples:\n"
      "  trnplan plan job.yaml\n"
      "  trnplan plan job.yaml --nodes 4 --out my-plan\n"
      "  trnplan plan job.yaml --format json | jq '.plans[0].strategy'");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
