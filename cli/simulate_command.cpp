#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "api/documents.h"
#include "api/simulate.h"
#include "api/simulate_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/text/table.h"
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
};

std::vector<std::string> schedules() {
  std::vector<std::string> all{kOwn};
  all.insert(all.end(), models::kScheduleNames.begin(), models::kScheduleNames.end());
  return all;
}

/// The step in a scenario in one sentence, and where its time differs.
std::string scenario_step(const api::ScenarioStep& s, const models::StepReport& of_ideal) {
  const Seconds ideal = of_ideal.step;
  const std::string spread = !s.runs || s.runs->runs == 1
                                 ? ""
                                 : fmt::format(" (median of {} runs, 5 to 95 %: {} to {})", s.runs->runs,
                                               seconds_text(s.runs->low), seconds_text(s.runs->high));
  const std::string parts = seconds_by_cause(s.report, of_ideal);
  return fmt::format("With {}: {} s a step{}, {:.3f} times as long as on the ideal machine below.\n",
                     printable(s.scenario), seconds_text(s.report.step), spread, s.report.step / ideal) +
         (parts.empty() ? "" : "  Along the path that decides the step, in seconds: " + parts + "\n");
}

/// The same, and by how much less the cores of each factor work than the busiest ones of their stage.
std::string scenario_text(const api::ScenarioStep& s, const models::StepReport& ideal, bool stages) {
  if (std::all_of(s.work.begin(), s.work.end(), [](const models::CoreWork& w) { return w.factor == 1; }))
    return scenario_step(s, ideal) + "\n";
  Table table({{"cores"}, {"factor"}, {"work, s"}, {"less than the busiest, s"}});
  Table by_stage({{"stage"}, {"cores"}, {"factor"}, {"work, s"}, {"less than the stage's busiest, s"}});
  for (const models::CoreWork& w : s.work) {
    std::vector<std::string> cells = {
        std::to_string(w.cores), fmt::format("{:.4g}", w.factor), fmt::format("{:.3f}", w.work.value),
        fmt::format("{:.3f}", (models::most_work(s.work, w.stage) - w.work).value)};
    if (!stages) {
      table.row(std::move(cells));
      continue;
    }
    cells.insert(cells.begin(), std::to_string(w.stage));
    by_stage.row(std::move(cells));
  }
  return scenario_step(s, ideal) + (stages ? by_stage : table).text() + "\n";
}

int run(const SimulateOptions& o) {
  api::check_report(o.report, api::paths_of(o.request));
  Remarks remarks = printed_remarks();
  const api::SimulateResult result = api::simulate(o.request, remarks);
  const auto& [job, strategy, judgement, profile, outlook, scenario] = result;
  if (o.common.json()) {
    print(api::document(result));
  } else if (judgement.plan) {
    const std::string unmeasured = judgement.plan->network ? "" : network_words(*judgement.plan);
    const std::string slower =
        scenario ? scenario_text(*scenario, judgement.plan->report, strategy.pipeline_parallel > 1) : "";
    print_text(job_line(job) + strategy_words(strategy) + "\n" + slower +
               plan_details(*judgement.plan, false, text_width()) +
               (unmeasured.empty() ? "" : "  network     " + unmeasured + "\n") +
               critical_path(*judgement.plan));
  }
  if (!o.report.path.empty()) api::write_simulate_report(o.report, o.request, result, remarks.all());
  return judgement.refused() ? kNoPlan : kDone;
}

}  // namespace

void add_simulate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<SimulateOptions>();
  CLI::App* command = app.add_subcommand("simulate", "Simulate one strategy of a job in detail");
  add_job_argument(*command, o->request.job, {JobPart::cluster, JobPart::network, JobPart::training});
  command
      ->add_option("--strategy", o->request.strategy,
                   "key=value pairs joined by commas: tp pp vpp cp ep dp mbs sp zero1 recompute kv precision "
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
