#include <memory>

#include "api/validate.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/step_validation_text.h"
#include "cli/text/validation_text.h"
#include "io/output/memory_json.h"
#include "io/output/validation_json.h"
#include "io/output/whatif_json.h"
#include "text/diagnostic.h"

namespace trnplan::cli {

namespace {

struct Options {
  Common common;
  std::string runs, leave_out = "configuration";
  bool rows = false;  ///< every row in the text, too
  bool memory = false, goodput = false, collectives = false;
};

int run_steps(const Options& o) {
  Remarks remarks = heard_remarks();
  const calibrate::LeaveOut leave_out = *calibrate::leave_out_from(o.leave_out);
  const api::ValidateResult v = api::validate({o.runs, o.common.profile, leave_out}, remarks);
  print_result(o.common, o.common.json() ? io::step_validation_json(v.steps, v.profile, leave_out)
                                         : step_validation_text(v.steps, o.rows));
  return kDone;
}

int run_goodput(const Options& o) {
  const api::UptimeValidationResult v = api::validate_uptimes(o.common.profile);
  print_result(o.common, o.common.json() ? io::uptime_json(v.rows, v.reliability, v.profile)
                                         : uptime_text(v.rows, text_width()));
  return kDone;
}

int run_collectives(const Options& o) {
  const auto tables = api::validate_collectives(o.common.profile);
  print_result(o.common, o.common.json() ? io::collective_validation_json(tables, o.common.profile)
                                         : collective_validation_text(tables));
  return kDone;
}

int run_memory(const Options& o) {
  const api::MemoryValidationResult v = api::validate_memory(o.common.profile);
  print_result(o.common, o.common.json() ? io::memory_validation_json(v.rows, v.score, v.profile)
                                         : memory_validation_text(v.rows, v.score, text_width()));
  return kDone;
}

int run(const Options& o) {
  if (o.memory + o.goodput + o.collectives > 1) {
    throw InputError({{"command line", 0, 0},
                      "validate",
                      "one of them at a time",
                      "give --memory, --goodput or --collectives"});
  }
  if ((o.memory || o.goodput || o.collectives) && !o.runs.empty()) {
    throw InputError({{"command line", 0, 0},
                      "runs",
                      "a table of runs is for step times",
                      "leave out --memory, --goodput and --collectives, or the file"});
  }
  if (o.collectives) return run_collectives(o);
  return o.goodput ? run_goodput(o) : o.memory ? run_memory(o) : run_steps(o);
}

}  // namespace

void add_validate(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("validate", "Set predictions beside published runs and jobs");
  command
      ->add_option("runs", o->runs,
                   "a table like catalog/measured-runs.csv (docs/json.md); that one when absent")
      ->check(not_empty());
  command
      ->add_option("--leave-out", o->leave_out,
                   "what a fit must not have seen of the row it predicts; none: the profile as it is")
      ->check(CLI::IsMember({"configuration", "run_group", "none"}))
      ->capture_default_str();
  command->add_flag("--rows", o->rows, "every row in the text, too");
  command->add_flag("--memory", o->memory,
                    "does each job fit? catalog/memory-cases.csv and measured-runs.csv");
  command->add_flag("--goodput", o->goodput, "how much of the time did jobs run? catalog/reliability.json");
  command->add_flag("--collectives", o->collectives,
                    "nccom-test tables of catalog/measured-collectives.csv, each left out of its fit");
  add_common(*command, o->common);
  command->footer(
      "Step times are predicted by fits to all published runs but those of the row's configuration (model, "
      "nodes, layout, sequence, recompute, over all releases); cover: share of rows inside their 90 % "
      "interval; half: its median half-width; MFU: error of one MFU for all; oracle: of each configuration's "
      "own mean, the noise. A profile that was fitted gives way to its prior. Without stacks: by fits that "
      "do not know what frameworks and releases differ by. Bounds: figures that only say how long a step "
      "took at most (catalog/reading.json); no mean counts them.\n"
      "Margin is what is left of the limit in GiB by count; \"P fit\" the probability in % that the peak stays "
      "below it; log score: mean of ln P(what is known), 0 at best, -0.69 without knowledge. "
      "docs/accuracy.md explains the wrong ones.\n"
      "Examples:\n"
      "  trnplan validate\n"
      "  trnplan validate mine.csv --leave-out none --format json\n"
      "  trnplan validate --memory");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
