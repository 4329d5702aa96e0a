#include <CLI/CLI.hpp>
#include <memory>

#include <fmt/format.h>

#include "api/sweep.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "cli/text/wrap.h"
#include "io/output/launch_json.h"
#include "launch/scheduler/submission.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::cli {

namespace {

struct SweepOptions {
  Common common;  ///< its profile is in the request
  api::SweepRequest request;
};

int say_missing(const api::SweepResult& result) {
  remark(
      fmt::format("{} of {} points are missing, the first is {}; run sweep again without --collect: it "
                  "computes only those",
                  result.missing.size(), result.points, result.missing.front()));
  return kNoPlan;
}

void show_table(const SweepOptions& o, const api::SweepResult& result) {
  const std::string csv = result.csv.string(), sqlite = result.sqlite.string();
  const io::LaunchStory story{o.request.scheduler, false, true, {{"csv", csv}, {"sqlite", sqlite}}, {}, {}};
  if (o.common.format == "csv") return print(read_text(csv));
  if (o.common.rows()) return print_rows(o.common, io::document_of_csv(read_text(csv)), io::sweep_rows());
  print_result(o.common, o.common.json() ? io::launch_json(story)
                                         : fmt::format("{} points\n{}\n{}\n", result.points, printable(csv),
                                                       printable(sqlite)));
}

void show_submitted(const SweepOptions& o, const api::SweepResult& result) {
  const io::LaunchStory story{"slurm", false, false, {{"sweep", result.job}}, {}, {}};
  print_result(o.common, o.common.json()
                             ? io::launch_json(story)
                             : fmt::format("sweep {}: {} of {} points\nthen: {}\n", result.job,
                                           result.missing.size(), result.points,
                                           command_text({"trnplan", "sweep", o.request.grid, "--out",
                                                         result.folder.string(), "--collect"})));
}

int run(const SweepOptions& o) {
  try {
    Remarks remarks = printed_remarks();
    const api::SweepResult result = api::sweep(o.request, remarks);
    if (!result.csv.empty()) return show_table(o, result), kDone;
    if (!result.job.empty()) return show_submitted(o, result), kDone;
    if (!result.missing.empty()) return say_missing(result);
    if (o.request.task.empty()) print("every point is done; --collect makes the table\n");
  } catch (const launch::SchedulerRefused& e) {
    remark(e.what());
    return kSchedulerRefused;
  }
  return kDone;
}

}  // namespace

void add_sweep(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<SweepOptions>();
  CLI::App* command = app.add_subcommand("sweep", "Compute a grid of what-ifs, here or as a Slurm job array");
  command
      ->add_option("grid", o->request.grid,
                   "grid.yaml: job, and lists of nodes, instances, sequence, global_batch")
      ->required()
      ->check(not_empty());
  command->add_option("--scheduler", o->request.scheduler, "local, or slurm: a job array")
      ->check(CLI::IsMember({"slurm", "local"}))
      ->capture_default_str();
  command->add_option("--out", o->request.out, "folder for the results; default: GRID.sweep")
      ->check(not_empty());
  CLI::Option* collect = command->add_flag(
      "--collect", o->request.collect, "make one table, as CSV and SQLite, of the points computed so far");
  command->add_option("--tasks", o->request.tasks, "tasks of the job array")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_option("--partition", o->request.partition, "partition of Slurm")->check(not_empty());
  command->add_option("--task", o->request.task, "K/N: do the work of task K of N of the array")
      ->check(not_empty())
      ->excludes(collect);
  add_risk(*command, o->request.risk);
  command
      ->add_option("--budget", o->request.budget,
                   "USD for the whole run, for example 2.5M; shows how likely each point keeps it")
      ->check(not_empty());
  add_pricing(*command, o->request.pricing);
  add_row_format(*command, o->common);
  add_profile(*command, o->common);
  command->footer(
      "Points that exist are not computed again: run it again after a task was killed. The table does not "
      "depend on the scheduler. Exit code 3: points are missing; 4: the scheduler refused.\n"
      "Examples:\n"
      "  trnplan sweep grid.yaml\n"
      "  trnplan sweep grid.yaml --scheduler slurm --tasks 64; trnplan sweep grid.yaml --collect\n"
      "  sqlite3 grid.sweep/sweep.sqlite 'select nodes, days, usd from sweep order by usd limit 5'");
  command->callback([o, &chosen] {
    chosen = [o] {
      o->request.profile = o->common.profile;
      return run(*o);
    };
  });
}

}  // namespace trnplan::cli
