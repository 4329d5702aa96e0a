#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text.h"
#include "io/plan_json.h"
#include "io/readers.h"
#include "io/strategy_text.h"
#include "planner/judge.h"

namespace trnplan::cli {

namespace {

struct Options {
  Common common;
  std::string job, strategy;
  int nodes = 0;
};

int run(const Options& o) {
  const io::Catalog catalog = io::Catalog::standard();
  const models::Profile profile = load_profile(catalog, o.common);
  io::JobReading reading = io::read_job(o.job, catalog);
  remarks(reading.notes);
  if (o.nodes > 0) reading.job.cluster.nodes = o.nodes;
  const models::Strategy strategy = io::parse_strategy(o.strategy, reading.job);
  reading.job.training.precision = strategy.precision;
  const planner::Judgement judgement = planner::judge(reading.job, strategy, profile);

  for (const planner::Violation& v : judgement.broken) {
    remark(fmt::format("{}: {}: {}; fix: {}", v.doubtful ? "doubtful" : "refused", v.rule, v.message, v.fix));
  }
  if (judgement.plan) {
    if (o.common.json()) {
      print(io::plan_json(*judgement.plan, judgement.broken));
    } else {
      print(job_line(reading.job) + describe(strategy) + "\n" + plan_details(*judgement.plan) +
            critical_path(judgement.plan->report));
    }
  } else if (o.common.json()) {
    print(io::refusal_json(judgement.broken));
  }
  return judgement.refused() ? kNoPlan : kDone;
}

}  // namespace

void add_simulate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("simulate", "Simulate one strategy of a job in detail");
  command->add_option("job", o->job, "job.yaml")->required();
  command
      ->add_option(
          "--strategy", o->strategy,
          "key=value joined by commas: tp pp vpp cp ep dp mbs sp zero1 recompute kv precision flash cuts")
      ->required();
  command->add_option("--nodes", o->nodes, "nodes, instead of the job's")
      ->check(CLI::Range(1, topology::kMostNodes));
  add_common(*command, o->common);
  command->footer(
      "A refused strategy is simulated all the same where that makes sense; the exit code is then 3.\n"
      "Examples:\n"
      "  trnplan simulate job.yaml --strategy tp=32\n"
      "  trnplan simulate job.yaml --strategy tp=8,recompute=CoreAttention+LlamaMLP --format json");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
