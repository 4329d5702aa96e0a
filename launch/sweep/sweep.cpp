#include "launch/sweep/sweep.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <set>

#include "io/output/atomic_write.h"
#include "launch/scheduler/submission.h"
#include "planner/cost/whatif.h"

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

/// The row of a shard; "" when there is none of this key.
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

io::SweepRow sweep_point(const Sweep& s, std::size_t index, const io::Catalog& catalog) {
  io::SweepRow row;
  row.index = static_cast<int>(index);
  row.point = s.grid.points[index];
  models::Job job = s.grid.job.job;
  if (row.point.instance != job.cluster.instance.name)
    job.cluster.instance = catalog.instance(row.point.instance);
  job.cluster.nodes = row.point.nodes;
  job.training.sequence = row.point.sequence;
  job.training.global_batch = row.point.global_batch;
  job.pin.data_parallel.reset();  // follows from the nodes
  planner::WhatIfQuestion question;
  question.instances = {job.cluster.instance};
  question.nodes = {row.point.nodes};
  question.tokens = s.grid.tokens;
  const planner::WhatIfPoint found = planner::whatif(job, question, s.profile, s.reliability).points.front();
  row.why = found.why;
  if (!found.plan) return row;
  const models::StepReport& report = found.plan->report;
  row.strategy = models::describe(found.plan->strategy);
  row.step_seconds = report.step.value;
  row.low = report.low.value;
  row.high = report.high.value;
  row.tokens_per_second = report.tokens_per_second;
  row.mfu = report.mfu;
  row.goodput = found.run.goodput.goodput;
  row.days = in_days(found.run.time);
  row.usd = found.run.usd;
  row.checkpoint_interval_seconds = found.run.goodput.interval.value;
  return row;
}

std::vector<std::size_t> missing(const Sweep& s) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < s.grid.points.size(); ++i) {
    if (shard(s, i).empty()) indices.push_back(i);
  }
  return indices;
}

void run_task(const Sweep& s, int task, int tasks, const io::Catalog& catalog,
              const std::function<void()>& done) {
  for (std::size_t i = static_cast<std::size_t>(task); i < s.grid.points.size();
       i += static_cast<std::size_t>(tasks)) {
    if (!shard(s, i).empty()) continue;
    io::write_file(shard_path(s, i), first_line(s) + io::sweep_csv_row(sweep_point(s, i, catalog)), true);
    if (done) done();
  }
}

std::string collect(const Sweep& s) {
  std::string csv = io::sweep_csv_header();
  for (std::size_t i = 0; i < s.grid.points.size(); ++i) csv += shard(s, i);
  return csv;
}

std::string submit_sweep(const SweepJob& job, const std::vector<std::size_t>& open, const Runner& runner) {
  io::write_file(
      job.folder / "sweep.sbatch",
      "#!/usr/bin/env bash\n"
      "#SBATCH --job-name=trnplan-sweep\n"
      "#SBATCH --nodes=1\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --requeue\n"
      "#SBATCH --open-mode=append\n"
      "#SBATCH --output=sweep-%A_%a.out\n"
      "# One task of a sweep: PROGRAM GRID FOLDER PROFILE TASKS\n"
      "set -euo pipefail\n"
      "exec \"$1\" sweep \"$2\" --out \"$3\" --profile \"$4\" --task \"$SLURM_ARRAY_TASK_ID/$5\"\n",
      true);
  std::set<std::size_t> tasks;
  for (const std::size_t i : open) tasks.insert(i % static_cast<std::size_t>(job.tasks));
  std::vector<std::string> command = {"sbatch", "--parsable", "--chdir=" + job.folder.string(),
                                      fmt::format("--array={}", fmt::join(tasks, ","))};
  if (!job.partition.empty()) command.push_back("--partition=" + job.partition);
  for (const std::string& word : {(job.folder / "sweep.sbatch").string(), job.program, job.grid.string(),
                                  job.folder.string(), job.profile, std::to_string(job.tasks)}) {
    command.push_back(word);
  }
  const ProcessResult ran = runner(command, {});
  if (!ran.started) throw SchedulerRefused("there is no sbatch here: " + ran.error);
  const std::string id = ran.output.substr(0, ran.output.find_first_not_of("0123456789"));
  if (!ran.ok() || id.empty()) throw SchedulerRefused("sbatch: " + ran.error);
  return id;
}

}  // namespace trnplan::launch
