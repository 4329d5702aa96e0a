#include <CLI/CLI.hpp>
#include <functional>
#include <memory>

#include "api/documents.h"
#include "api/plan.h"
#include "api/plan_report.h"
#include "api/require.h"
#include "api/target_refusal.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/interruption.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/progress_bar.h"
#include "cli/text/plan_text.h"
#include "cli/text/run_text.h"
#include "targets/registry.h"

namespace trnplan::cli {

namespace {

struct PlanOptions {
  Common common;  ///< its profile is in the request
  api::PlanRequest request;
  api::ReportFile report;
  std::vector<std::string> required;
  bool details = false;
};

/// Prints what became of each requirement; false if one is not met.
bool keeps(const std::vector<api::Requirement>& requirements, const api::PlanResult& result) {
  bool all = true;
  for (const api::Required& r : api::judge(requirements, result)) {
    remark("--require " + to_string(r));
    all = all && r.met();
  }
  return all;
}

std::string whole_run_text(const planner::ForecastRun& run, bool found) {
  return std::string(found
                         ? "\nThe run, with failures and checkpoints\n"
                         : "\nWhat it reaches within deadline and budget, with failures and checkpoints\n") +
         run_text(run.answer, run.question);
}

void show(const PlanOptions& o, const api::PlanResult& r) {
  const planner::ForecastRun* run = r.run ? &*r.run : nullptr;
  const targets::Baseline* today = r.baseline ? &*r.baseline : nullptr;
  if (o.common.json()) return print(api::document(r));
  if (o.common.rows()) return print_rows(o.common, api::document(r), io::plan_rows());
  const std::string& folder = o.request.out;
  const auto refusal = api::target_refusal(o.request, r);
  const Answer answer{r.job,
                      r.search,
                      r.confidence,
                      r.ties,
                      today,
                      r.baseline_file,
                      r.written ? folder : "",
                      r.script,
                      o.details,
                      r.unwritten ? folder : "",
                      r.outlooks,
                      refusal ? &*refusal : nullptr,
                      r.training ? &*r.training : nullptr,
                      r.writable,
                      r.measures,
                      r.others};
  print_text(plan_answer(answer) + (run != nullptr ? whole_run_text(*run, !r.search.plans.empty()) : "") +
             (o.details ? search_details(answer, text_width()) : ""));
}

int run(const PlanOptions& o) {
  api::check_report(o.report, api::paths_of(o.request));
  const std::vector<api::Requirement> requirements = api::read_requirements(o.required);
  const Interruption interruption;
  ProgressBar bar;
  Remarks remarks([&](const Remark& r) {
    bar.clear();
    say(r);
  });
  api::PlanRequest request = o.request;
  request.stop = &Interruption::flag();
  request.progress = std::ref(bar);
  const api::PlanResult result = api::plan(request, remarks);
  bar.clear();
  show(o, result);
  if (!o.report.path.empty()) api::write_plan_report(o.report, o.request, result, remarks.all());
  if (result.unwritten) throw *result.unwritten;
  if (result.interrupted) return kInterrupted;
  if (result.search.plans.empty()) return kNoPlan;
  return keeps(requirements, result) ? kDone : kNotMet;
}

/// "what is to train the plan: nxdt, nemo-megatron or nxd; without it that of the job's framework".
std::string what_trains() {
  const std::vector<std::string> names = targets::names();
  std::string text = "the stack that is to train the plan: ";
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text + "; default: that of the job's software.framework";
}

}  // namespace

void add_plan(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<PlanOptions>();
  CLI::App* command =
      app.add_subcommand("plan", "Find the fastest strategies for a job, and why others were refused");
  add_job_argument(*command, o->request.job,
                   {JobPart::cluster, JobPart::network, JobPart::training, JobPart::tokens, JobPart::limits});
  command->add_flag("--details", o->details,
                    "also show the ranking, the time and memory of the best plan, and what was refused");
  command->add_option("--top", o->request.top, "number of plans to list")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--baseline", o->request.baseline,
                   "NxDT YAML that runs today; shows how much faster the best plan is, and what to change")
      ->check(not_empty());
  command
      ->add_option("--threads", o->request.threads,
                   "0: all cores, which is also the most; more than one gain little, since cuts and "
                   "explanations use one; the answer does not depend on it")
      ->check(whole_number(0, 1024))
      ->capture_default_str();
  command
      ->add_option("--time-limit", o->request.time_limit,
                   "seconds for the whole command; when they are over it shows the best plan so far, how far "
                   "it may be from the best there is, and what was left undone")
      ->check(decimal_number(1e-3, 1e6));
  command
      ->add_option(
          "--fit-probability", o->request.fit_probability,
          "least probability with which a plan must fit into memory, by its bytes alone; what is printed "
          "also counts the distance to known runs")
      ->check(decimal_number(0.01, 0.9999))
      ->capture_default_str();
  command
      ->add_option("--sure", o->request.sure,
                   "probability from which it counts as known which of the first two plans is better; "
                   "below it, a measurement that would decide is named")
      ->transform(share_number(0.5, 0.9999))
      ->capture_default_str();
  add_risk(*command, o->request.risk);
  command->add_flag("--allow-doubtful", o->request.allow_doubtful,
                    "include strategies with doubtful replica groups");
  command
      ->add_option("--out", o->request.out,
                   "folder to write: config, scripts for Slurm and Kubernetes, cluster files, plan.json, and "
                   "measure.sh to learn which of the first two plans is better where it is not clear, or to "
                   "time the machine")
      ->check(not_empty());
  command
      ->add_option("--scheduler", o->request.job.options.scheduler,
                   "slurm, eks or local; --out then writes jobs and cluster files for this one only")
      ->check(
          CLI::IsMember(std::vector<std::string>(models::kSubmitNames.begin(), models::kSubmitNames.end())));
  command->add_option("--target", o->request.target, what_trains())->check(CLI::IsMember(targets::names()));
  command->add_flag("--force", o->request.force, "overwrite files in --out, and --report");
  command
      ->add_option("--require", o->required,
                   "'fits>=99%' or 'days<=60': exit code 5 if the recommended plan does not keep it, though "
                   "--out is written; may be repeated; " +
                       api::requirable())
      ->check(not_empty())
      ->allow_extra_args(false);
  add_report(*command, o->report.path);
  add_row_format(*command, o->common);
  add_profile(*command, o->common);
  add_hardware(*command, o->request.hardware);
  add_price(*command, o->request.price);
  add_pricing(*command, o->request.pricing);
  command->footer(
      "Examples:\n"
      "  trnplan plan llama3-8b --nodes 4\n"
      "  trnplan plan job.yaml\n"
      "  trnplan plan config.json --instance trn1.32xlarge --sequence 8192 --global-batch 1024 --tokens 15T\n"
      "  trnplan plan job.yaml --nodes 4 --out my-plan\n"
      "  trnplan plan job.yaml --baseline nxdt.yaml\n"
      "  trnplan plan job.yaml --format json | jq '.plans[.recommended].strategy'");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      o->request.words = words_of(o->request.job);
      o->report.force = o->request.force;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
