#include "launch/sweep/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <set>

#include "io/output/atomic_write.h"
#include "launch/scheduler/submission.h"

namespace trnplan::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kShardBytes = 1 << 16;

fs::path shard_path(const Sweep& s, std::size_t index) {
  return s.folder / fmt::format("point-{:06}.csv", index);
}

std::string first_line(const Sweep& s) {
  return "# " + s.key + "\n";
}

/// Row of a shard; "" if there is none of this key.
std::string shard(const Sweep& s, std::size_t index) {
  const fs::path path = shard_path(s, index);
  std::error_code error;
  if (!fs::exists(path, error)) return "";
  const std::string text = read_text(path, kShardBytes);
  const std::string head = first_line(s);
  return text.starts_with(head) && text.ends_with('\n') ? text.substr(head.size()) : "";
}

}  // namespace

std::string sweep_key(const std::vector<std::string>& texts) {
  std::uint64_t hash = 14695981039346656037ull;
  for (const std::string& text : texts) {
    for (const char c : text + '\0') hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
  }
  return fmt::format("{:016x}", hash);
}

std::vector<std::size_t> missing(const Sweep& s) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < s.grid.points.size(); ++i) {
    if (shard(s, i).empty()) indices.push_back(i);
  }
  return indices;
}

void run_task(const Sweep& s, int task, int tasks, const std::function<void()>& done) {
  for (std::size_t i = static_cast<std::size_t>(task); i < s.grid.points.size();
       i += static_cast<std::size_t>(tasks)) {
    if (!shard(s, i).empty()) continue;
    io::SweepRow row = s.answer(s.grid.points[i]);
    row.index = static_cast<int>(i);
    io::write_file(shard_path(s, i), first_line(s) + io::sweep_csv_row(row), true);
    if (done) done();
  }
}

std::string collect(const Sweep& s) {
  std::string csv = io::sweep_csv_header();
  for (std::size_t i = 0; i < s.grid.points.size(); ++i) csv += shard(s, i);
  return csv;
}

std::string submit_sweep(const SweepJob& job, const std::vector<std::size_t>& open, const Runner& runner) {
  io::write_file(job.folder / "sweep.sbatch",
                 "#!/usr/bin/env bash\n"
                 "#SBATCH --job-name=trnplan-sweep\n"
                 "#SBATCH --nodes=1\n"
                 "#SBATCH --ntasks=1\n"
                 "#SBATCH --requeue\n"
                 "#SBATCH --open-mode=append\n"
                 "#SBATCH --output=sweep-%A_%a.out\n"
                 "# One task of a sweep: PROGRAM GRID FOLDER TASKS OPTION...\n"
                 "set -euo pipefail\n"
                 "exec \"$1\" sweep \"$2\" --out \"$3\" --task \"$SLURM_ARRAY_TASK_ID/$4\" \"${@:5}\"\n",
                 true);
  std::set<std::size_t> tasks;
  for (const std::size_t i : open) tasks.insert(i % static_cast<std::size_t>(job.tasks));
  std::vector<std::string> command = {"sbatch", "--parsable", "--chdir=" + job.folder.string(),
                                      fmt::format("--array={}", fmt::join(tasks, ","))};
  if (!job.partition.empty()) command.push_back("--partition=" + job.partition);
  for (const std::string& word : {(job.folder / "sweep.sbatch").string(), job.program, job.grid.string(),
                                  job.folder.string(), std::to_string(job.tasks)}) {
    command.push_back(word);
  }
  command.insert(command.end(), job.options.begin(), job.options.end());
  const ProcessResult ran = runner(command, {});
  if (!ran.started) throw SchedulerRefused("there is no sbatch here: " + ran.error);
  const std::string id = ran.output.substr(0, ran.output.find_first_not_of("0123456789"));
  if (!ran.ok() || id.empty()) throw SchedulerRefused("sbatch: " + ran.error);
  return id;
}

}  // namespace trnplan::launch
