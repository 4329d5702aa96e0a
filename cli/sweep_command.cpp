#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "api/inputs.h"
#include "cli/commands.h"
#include "cli/context.h"
#include "cli/options.h"
#include "io/catalog/program_path.h"
#include "io/catalog/reliability.h"
#include "io/output/atomic_write.h"
#include "io/output/launch_json.h"
#include "io/output/profile_json.h"
#include "launch/scheduler/submission.h"
#include "launch/sweep/sweep.h"
#include "text/parse.h"

namespace trnplan::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
  Common common;
  std::string grid, scheduler = "local", out, task, partition;
  int tasks = 16;
  bool collect = false;
};

[[noreturn]] void refuse(const char* key, std::string problem, std::string fix) {
  throw InputError({{"command line", 0, 0}, key, std::move(problem), std::move(fix)});
}

fs::path folder_of(const Options& o) {
  if (!o.out.empty()) return fs::absolute(o.out);
  return fs::absolute(fs::path(o.grid).replace_extension(".sweep"));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder)) {
    throw InputError(
        {{folder.string(), 0, 0}, "", "cannot be made: " + error.message(), "name another --out"});
  }
  io::check_files(folder, {}, true);
}

/// "3/16".
std::pair<int, int> task_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  const auto task = parse_whole(text.substr(0, slash));
  const auto tasks = slash == std::string::npos ? std::nullopt : parse_whole(text.substr(slash + 1));
  if (!task || !tasks || *tasks < 1 || *task >= *tasks)
    refuse("--task", "no task of how many", "write for example 3/16");
  return {*task, *tasks};
}

launch::Sweep sweep_of(const Options& o, const io::Catalog& catalog) {
  launch::Sweep s;
  s.grid = io::read_sweep(o.grid, catalog);
  s.profile = api::load_profile(catalog, o.common.profile);
  s.reliability = io::reliability_from(read_document(catalog.file("reliability.json")));
  s.folder = folder_of(o);
  // All of it: algorithms and covariance set times and intervals, too.
  s.key = launch::sweep_key(
      {TRNPLAN_VERSION, s.grid.text, io::profile_json(s.profile, std::nullopt, {}, "", "")});
  return s;
}

int collect(const Options& o, const launch::Sweep& s) {
  const auto open = launch::missing(s);
  if (!open.empty()) {
    remark(fmt::format(
        "{} of {} points are missing, the first is {}; call sweep again without --collect: only those "
        "are computed",
        open.size(), s.grid.points.size(), open.front()));
    return kNoPlan;
  }
  const std::string csv = launch::collect(s);
  io::write_file(s.folder / "sweep.csv", csv, true);
  io::write_file(s.folder / "sweep.sqlite", io::sweep_sqlite(csv, "sweep.csv"), true);
  const io::LaunchStory story{
      o.scheduler,
      false,
      true,
      {{"csv", (s.folder / "sweep.csv").string()}, {"sqlite", (s.folder / "sweep.sqlite").string()}},
      {}};
  print_result(o.common, o.common.json() ? io::launch_json(story)
                                         : fmt::format("{} points\n{}\n{}\n", s.grid.points.size(),
                                                       printable((s.folder / "sweep.csv").string()),
                                                       printable((s.folder / "sweep.sqlite").string())));
  return kDone;
}

int submit(const Options& o, const launch::Sweep& s) {
  const auto open = launch::missing(s);
  if (open.empty()) return print("every point is done; --collect makes the table\n"), kDone;
  const launch::SweepJob job{
      io::program_path().string(),
      fs::absolute(o.grid),
      s.folder,
      o.common.profile.ends_with(".json") ? fs::absolute(o.common.profile).string() : o.common.profile,
      o.partition,
      o.tasks};
  try {
    const std::string id = launch::submit_sweep(job, open, launch::run_program);
    const io::LaunchStory story{"slurm", false, false, {{"sweep", id}}, {}};
    print_result(o.common,
                 o.common.json()
                     ? io::launch_json(story)
                     : fmt::format("sweep {}: {} of {} points\nthen: trnplan sweep {} --out {} --collect\n",
                                   id, open.size(), s.grid.points.size(), launch::command_line({o.grid}),
                                   launch::command_line({s.folder.string()})));
  } catch (const launch::SchedulerRefused& e) {
    remark(e.what());
    return kSchedulerRefused;
  }
  return kDone;
}

int run(const Options& o) {
  const io::Catalog catalog = io::Catalog::standard();
  const launch::Sweep s = sweep_of(o, catalog);
  if (o.collect) return collect(o, s);
  const auto [task, tasks] = o.task.empty() ? std::pair(0, 1) : task_of(o.task);
  make_folder(s.folder);
  if (!o.task.empty()) {
    launch::run_task(s, task, tasks, catalog);
    return kDone;
  }
  if (o.scheduler == "slurm") return submit(o, s);
  launch::run_task(s, 0, 1, catalog);
  return collect(o, s);
}

}  // namespace

void add_sweep(CLI::App& app, Run& chosen) {
  auto o = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("sweep", "Compute a grid of what-ifs here or as a Slurm job array");
  command
      ->add_option("grid", o->grid, "grid.yaml: job, and lists of nodes, instances, sequence, global_batch")
      ->required()
      ->check(not_empty());
  command->add_option("--scheduler", o->scheduler, "local, or slurm: a job array")
      ->check(CLI::IsMember({"slurm", "local"}))
      ->capture_default_str();
  command->add_option("--out", o->out, "folder of the results; GRID.sweep when absent")->check(not_empty());
  command->add_flag("--collect", o->collect, "make one table, CSV and SQLite, of what is there");
  command->add_option("--tasks", o->tasks, "of the job array")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_option("--partition", o->partition, "of Slurm")->check(not_empty());
  command->add_option("--task", o->task, "K/N: what task K of N of the array does")->check(not_empty());
  add_common(*command, o->common);
  command->footer(
      "Points that are there are not computed again: call it once more after a task was killed. The table "
      "does not depend on the scheduler. Exit code 3: points are missing; 4: the scheduler refused.\n"
      "Examples:\n"
      "  trnplan sweep grid.yaml\n"
      "  trnplan sweep grid.yaml --scheduler slurm --tasks 64; trnplan sweep grid.yaml --collect\n"
      "  sqlite3 grid.sweep/sweep.sqlite 'select nodes, days, usd from sweep order by usd limit 5'");
  command->callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace trnplan::cli
