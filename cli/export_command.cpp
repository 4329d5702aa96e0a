#include <CLI/CLI.hpp>
#include <memory>

#include "api/simulate.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/job_argument.h"
#include "cli/options.h"

namespace trnplan::cli {

namespace {

int run(const api::ExportRequest& request) {
  Remarks remarks = printed_remarks();
  return api::export_traces(request, remarks) ? kNoPlan : kDone;
}

}  // namespace

void add_export(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<api::ExportRequest>();
  CLI::App* command = app.add_subcommand("export", "Write a step as traces that other simulators can run");
  add_job_argument(*command, o->job, {JobPart::cluster, JobPart::training});
  command->add_option("--strategy", o->strategy, "as for simulate")->required();
  command
      ->add_option("--chakra", o->chakra,
                   "folder for Chakra traces, one per rank, and comm_groups.json, as ASTRA-sim reads them")
      ->required()
      ->check(not_empty());
  command->add_flag("--force", o->force, "overwrite files in --chakra");
  command->add_option("--profile", o->profile, "parameters: a catalogue name or a .json file")
      ->check(not_empty());
  command->footer(
      "A refused strategy is exported all the same if it can be simulated; the exit code is then 3.\n"
      "Examples:\n"
      "  trnplan export job.yaml --strategy tp=8,pp=4 --chakra traces");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
