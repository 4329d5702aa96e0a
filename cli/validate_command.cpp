#include <memory>

#include "api/documents.h"
#include "api/score.h"
#include "api/validate.h"
#include "api/validate_report.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/job_argument.h"
#include "cli/options.h"
#include "cli/text/score_text.h"
#include "cli/text/step_validation_text.h"
#include "cli/text/validation_text.h"
#include "io/output/validation_json.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

struct ValidateOptions {
  Common common;
  std::string runs;
  std::string leave_out;              ///< "" = not given
  std::string measured, predictions;  ///< a table to score, and the source of its predictions
  JobArgument job;                    ///< of a user's own table
  std::string framework;              ///< likewise
  api::ReportFile report;
  bool plain_network = false;  ///< ignores measurements of the network in the rows
  bool rows = false;           ///< also prints every row
  bool memory = false, goodput = false, collectives = false;
};

/// Scores rows of a table, without a fit.
int run_scores(const ValidateOptions& o, const api::ScoreRequest& request) {
  Remarks remarks = printed_remarks();
  const api::ScoreResult s = api::score(request, remarks);
  print_answer(
      o.common, o.report.force, [&] { return row_scores_text(s.scores, s.profiles, o.rows, text_width()); },
      [&] { return api::document(s); }, &io::validation_rows());
  if (!o.report.path.empty()) api::write_score_report(o.report, request, s, remarks.all());
  return s.scores.any_predicted() ? kDone : kNoPlan;
}

int run_steps(const ValidateOptions& o) {
  Remarks remarks = printed_remarks();
  api::ValidateRequest request{o.runs, o.common.profile};
  request.leave_out = calibrate::leave_out_from(o.leave_out).value_or(request.leave_out);
  const api::ValidateResult v = api::validate(request, remarks);
  print_answer(
      o.common, o.report.force, [&] { return step_validation_text(v.steps, o.rows); },
      [&] { return api::document(v, request.leave_out); }, &io::validation_rows());
  if (!o.report.path.empty()) api::write_validate_report(o.report, request, v, remarks.all());
  return kDone;
}

int run_goodput(const ValidateOptions& o) {
  const api::UptimeValidationResult v = api::validate_uptimes(o.common.profile);
  print_answer(
      o.common, o.report.force, [&] { return uptime_text(v.rows, text_width()); },
      [&] { return api::document(v); });
  return kDone;
}

int run_collectives(const ValidateOptions& o) {
  const auto tables = api::validate_collectives(o.common.profile);
  print_answer(
      o.common, o.report.force, [&] { return collective_validation_text(tables); },
      [&] { return io::collective_validation_json(tables, api::profile_name(o.common.profile)); });
  return kDone;
}

int run_memory(const ValidateOptions& o) {
  const api::MemoryValidationResult v = api::validate_memory(o.common.profile);
  print_answer(
      o.common, o.report.force, [&] { return memory_validation_text(v.rows, v.score, text_width()); },
      [&] { return api::document(v); });
  return kDone;
}

int run(const ValidateOptions& o) {
  const bool another = o.memory || o.goodput || o.collectives;
  if (!o.measured.empty() && (another || !o.runs.empty())) {
    throw InputError({{"command line", 0, 0},
                      "--measured",
                      "a table is scored on its own",
                      "leave out the other table, --memory, --goodput and --collectives"});
  }
  if (o.memory + o.goodput + o.collectives > 1) {
    throw InputError({{"command line", 0, 0},
                      "validate",
                      "one of them at a time",
                      "give --memory, --goodput or --collectives"});
  }
  if (another && !o.runs.empty()) {
    throw InputError({{"command line", 0, 0},
                      "runs",
                      "a table of runs is for step times",
                      "leave out --memory, --goodput and --collectives, or the file"});
  }
  if (another && o.common.rows()) {
    throw InputError({{"command line", 0, 0},
                      "--format",
                      o.common.format + " has the rows of step times",
                      "leave out --memory, --goodput and --collectives, or give --format json"});
  }
  if (another && !o.report.path.empty()) {
    throw InputError({{"command line", 0, 0},
                      "--report",
                      "a report covers step times",
                      "leave out --memory, --goodput and --collectives, or --report"});
  }
  api::check_report(o.report, {o.runs, o.measured, o.predictions, o.common.document});
  check_document(o.common, o.report.force, {o.runs, o.measured, o.predictions});
  const std::string& table = o.measured.empty() ? o.runs : o.measured;
  const api::ScoreRequest request{table,         o.job, o.framework,      o.common.profile,
                                  o.predictions, "",    !o.plain_network, !o.leave_out.empty()};
  if (!o.measured.empty() || (!o.runs.empty() && api::is_layout_table(o.runs))) return run_scores(o, request);
  api::refuse_idle(another ? api::Validated::other : api::Validated::steps, request, o.rows);
  if (o.collectives) return run_collectives(o);
  return o.goodput ? run_goodput(o) : o.memory ? run_memory(o) : run_steps(o);
}

}  // namespace

void add_validate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<ValidateOptions>();
  CLI::App* command = app.add_subcommand("validate", "Compare predictions with published runs and jobs");
  command
      ->add_option("runs", o->runs,
                   "a table like catalog/measured-runs.csv (docs/json.md), which is the default; a table of "
                   "layouts is treated as by --measured")
      ->check(not_empty());
  command
      ->add_option("--measured", o->measured,
                   "score every row of this table as it would be simulated, without a fit: your own, with "
                   "columns id, step_s and strategy, or id, step_s, tp, pp, dp and others (docs/json.md); or "
                   "one like catalog/gpu-runs.csv or measured-runs.csv, recognised by its header")
      ->check(not_empty());
  command
      ->add_option("--predictions", o->predictions,
                   "score another tool's instead: a CSV of id,step_s[,mem_gib] for the rows of --measured")
      ->check(not_empty());
  add_job_option(*command, o->job, {JobPart::cluster, JobPart::training});
  command->get_option("--job")->description(
      "the job of your own table's rows: job.yaml, or a model that trnplan models lists");
  command
      ->add_option(
          "--framework", o->framework,
          "the stack (or training loop) that trained rows that state none: megatron, fsdp, nxdt, ...")
      ->check(not_empty());
  command->add_flag("--no-network-state", o->plain_network,
                    "predict rows that measured an all-reduce without that measurement, as a plan would");
  command
      ->add_option(
          "--leave-out", o->leave_out,
          "for steps of Neuron runs: what the fit that predicts a row must not have seen; none: use the "
          "profile as it is")
      ->check(CLI::IsMember({"configuration", "run_group", "none"}))
      ->default_str("configuration");
  command->add_flag("--rows", o->rows, "print every row in the text as well");
  command->add_flag("--memory", o->memory,
                    "score whether jobs fit: catalog/memory-cases.csv and measured-runs.csv");
  command->add_flag("--goodput", o->goodput, "score the uptime of jobs: catalog/reliability.json");
  command->add_flag(
      "--collectives", o->collectives,
      "score the nccom-test tables of catalog/measured-collectives.csv, each left out of its fit");
  add_report(*command, o->report.path);
  command->add_flag("--force", o->report.force, "overwrite the files of --report and --json");
  add_document(*command, o->common);
  add_row_format(*command, o->common);
  add_profile(*command, o->common);
  command->footer(
      "Each row is predicted by a fit to all published runs except those of its own configuration (model, "
      "nodes, layout, sequence, recompute, over all releases); cover: share of rows inside their 90 % "
      "interval; half: its median half-width; MFU: error of one MFU for all; oracle: error of each "
      "configuration's own mean, which is the noise. A fitted profile is replaced by its prior. Without "
      "stacks: by fits that do not know how frameworks and releases differ. Bounds: figures that only state "
      "how long a step took at most (catalog/reading.json); they count in no mean.\n"
      "Margin: GiB left below the limit, by count; \"P fit\": probability in % that the peak stays below it; "
      "log score: mean of ln P(what happened), 0 at best, -0.69 without knowledge. docs/accuracy.md explains "
      "the wrong ones.\n"
      "Exit code 3: no row of a table could be predicted.\n"
      "Examples:\n"
      "  trnplan validate\n"
      "  trnplan validate mine.csv --leave-out none --format json\n"
      "  trnplan validate --memory\n"
      "  trnplan validate strategies.csv --job job.yaml\n"
      "  trnplan validate layouts.csv --instance p5.48xlarge");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
