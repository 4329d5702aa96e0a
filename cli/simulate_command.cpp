#include <memory>

#include "api/simulate.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/text/text.h"
#include "io/output/plan_json.h"

namespace trnplan::cli {

namespace {

struct Options {
  Common common;                 ///< its profile stands in the request
  std::string schedule = "nxd";  ///< as well
  api::SimulateRequest request;
};

int run(const Options& o) {
  Remarks remarks = heard_remarks();
  const auto [job, strategy, judgement] = api::simulate(o.request, remarks);
  if (judgement.plan) {
    if (o.common.json()) {
      print(io::plan_json(*judgement.plan, judgement.broken));
    } else {
      print_text(job_line(job) + strategy_words(strategy) + "\n" +
                 plan_details(*judgement.plan, false, text_width()) + critical_path(judgement.plan->report));
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
  add_job_argument(*command, o->request.job, {JobPart::cluster, JobPart::training});
  command
      ->add_option(
          "--strategy", o->request.strategy,
          "key=value joined by commas: tp pp vpp cp ep dp mbs sp zero1 recompute kv precision flash cuts "
          "bucket")
      ->required();
  command
      ->add_option("--trace", o->request.trace,
                   "file for the timeline: .pftrace or .json, for ui.perfetto.dev")
      ->check(not_empty());
  command->add_flag("--force", o->request.force, "overwrite the file of --trace");
  command->add_option("--schedule", o->schedule, "order of pipeline stages: nxd, or zero-bubble as a what-if")
      ->check(CLI::IsMember({"nxd", "zero-bubble"}))
      ->capture_default_str();
  add_common(*command, o->common);
  command->footer(
      "A refused strategy is simulated all the same where that makes sense; the exit code is then 3.\n"
      "Examples:\n"
      "  trnplan simulate job.yaml --strategy tp=32\n"
      "  trnplan simulate job.yaml --strategy tp=8,pp=4 --trace step.pftrace\n"
      "  trnplan simulate job.yaml --strategy tp=8,recompute=CoreAttention+LlamaMLP --format json");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      o->request.schedule = o->schedule == "nxd" ? models::Schedule::nxd : models::Schedule::zero_bubble;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
