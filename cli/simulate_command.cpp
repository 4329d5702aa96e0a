#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/documents.h"
#include "api/simulate.h"
#include "api/simulate_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/text/simulate_text.h"
#include "cli/text/text.h"
#include "io/input/scenario_text.h"

namespace trnplan::cli {

namespace {

constexpr const char* kOwn = "nxd";  ///< the framework's own schedule

struct SimulateOptions {
  Common common;                ///< its profile is in the request
  std::string schedule = kOwn;  ///< in the request too
  api::SimulateRequest request;
  api::ReportFile report;
  bool details = false;
};

std::vector<std::string> schedules() {
  std::vector<std::string> all{kOwn};
  all.insert(all.end(), models::kScheduleNames.begin(), models::kScheduleNames.end());
  return all;
}

int run(const SimulateOptions& o) {
  api::check_report(o.report, api::paths_of(o.request));
  Remarks remarks = printed_remarks();
  const api::SimulateResult result = api::simulate(o.request, remarks);
  if (o.common.json())
    print(api::document(result));
  else if (result.judgement.plan)
    print_text(simulate_text(result, o.details, text_width()));
  if (!o.report.path.empty()) api::write_simulate_report(o.report, o.request, result, remarks.all());
  return result.judgement.refused() ? kNoPlan : kDone;
}

}  // namespace

void add_simulate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand("simulate", "Simulate one strategy of a job in detail");
  add_job_argument(*command, o->request.job, {JobPart::cluster, JobPart::network, JobPart::training});
  command
      ->add_option(
          "--strategy", o->request.strategy,
          "key=value pairs joined by commas: tp pp vpp cp ep etp dp mbs sp zero1 recompute kv precision "
          "flash cuts bucket schedule shard shard_degree framework")
      ->required();
  command
      ->add_option("--trace", o->request.trace,
                   "file for the timeline: .pftrace or .json, for ui.perfetto.dev")
      ->check(not_empty());
  command->add_flag("--force", o->request.force, "overwrite the files of --trace and --report");
  command
      ->add_option("--scenario", o->request.scenario,
                   "a machine that is not ideal: keys below, joined by commas, or a .yaml file with them, "
                   "slow-node: {3: 1.2}")
      ->check(not_empty());
  add_report(*command, o->report.path);
  command
      ->add_option(
          "--schedule", o->schedule,
          "order of the pipeline stages, like schedule= in --strategy: nxd (NxD's own), or a what-if")
      ->check(CLI::IsMember(schedules()))
      ->capture_default_str();
  command->add_flag(
      "--details", o->details,
      "also show the memory of each stage, the critical path, and the work of cores in a scenario");
  add_common(*command, o->common);
  add_hardware(*command, o->request.hardware);
  add_price(*command, o->request.price);
  command->footer(
      "Keys of --scenario, with nodes and cores numbered from 0:\n" + io::scenario_help() +
      "\nA refused strategy is simulated all the same if that is possible; the exit code is then 3.\n"
      "Examples:\n"
      "  trnplan simulate job.yaml --strategy tp=32\n"
      "  trnplan simulate job.yaml --strategy tp=8,pp=4 --trace step.pftrace\n"
      "  trnplan simulate job.yaml --strategy tp=8,recompute=CoreAttention+LlamaMLP --format json");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      o->report.force = o->request.force;
      if (o->schedule != kOwn) o->request.schedule = models::schedule_from(o->schedule);
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
