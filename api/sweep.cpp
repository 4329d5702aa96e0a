#include "api/sweep.h"

#include <utility>

#include "api/inputs.h"
#include "io/catalog/program_path.h"
#include "io/catalog/reliability.h"
#include "io/output/atomic_write.h"
#include "io/output/profile_json.h"
#include "launch/scheduler/submission.h"
#include "launch/sweep/sweep.h"
#include "text/parse.h"
#include "text/version.h"

namespace trnplan::api {

namespace {

namespace fs = std::filesystem;

fs::path folder_of(const SweepRequest& o) {
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

/// "3/16"; all of the work is task 0 of 1.
std::pair<int, int> task_of(const std::string& text) {
  if (text.empty()) return {0, 1};
  const std::size_t slash = text.find('/');
  const auto task = parse_whole(text.substr(0, slash));
  const auto tasks = slash == std::string::npos ? std::nullopt : parse_whole(text.substr(slash + 1));
  if (!task || !tasks || *tasks < 1 || *task >= *tasks)
    throw InputError({{"command line", 0, 0}, "--task", "no task of how many", "write for example 3/16"});
  return {*task, *tasks};
}

launch::Sweep sweep_of(const SweepRequest& o, const io::Catalog& catalog) {
  launch::Sweep s;
  s.grid = io::read_sweep(o.grid, catalog);
  s.profile = load_profile(catalog, o.profile);
  s.reliability = io::reliability_from(read_document(catalog.file("reliability.json")));
  s.folder = folder_of(o);
  // All of it: algorithms and covariance set times and intervals, too.
  s.key = launch::sweep_key(
      {program_version(), s.grid.text, io::profile_json(s.profile, std::nullopt, {}, "", "")});
  return s;
}

void write_table(const launch::Sweep& s, SweepResult& result) {
  result.missing = launch::missing(s);
  if (!result.missing.empty()) return;
  const std::string csv = launch::collect(s);
  result.csv = s.folder / "sweep.csv";
  result.sqlite = s.folder / "sweep.sqlite";
  io::write_file(result.csv, csv, true);
  io::write_file(result.sqlite, io::sweep_sqlite(csv, "sweep.csv"), true);
}

void submit(const SweepRequest& o, const launch::Sweep& s, const launch::Runner& runner,
            SweepResult& result) {
  result.missing = launch::missing(s);
  if (result.missing.empty()) return;
  const launch::SweepJob job{io::program_path().string(),
                             fs::absolute(o.grid),
                             s.folder,
                             o.profile.ends_with(".json") ? fs::absolute(o.profile).string() : o.profile,
                             o.partition,
                             o.tasks};
  result.job = launch::submit_sweep(job, result.missing, runner);
}

}  // namespace

SweepResult sweep(const SweepRequest& o, const launch::Runner& runner) {
  const io::Catalog catalog = io::Catalog::standard();
  const launch::Sweep s = sweep_of(o, catalog);
  SweepResult result{s.folder, s.grid.points.size(), {}, "", {}, {}};
  if (o.collect) return write_table(s, result), result;
  const auto [task, tasks] = task_of(o.task);
  make_folder(s.folder);
  if (o.task.empty() && o.scheduler == "slurm") return submit(o, s, runner, result), result;
  launch::run_task(s, task, tasks, catalog);
  if (o.task.empty()) write_table(s, result);
  return result;
}

}  // namespace trnplan::api
