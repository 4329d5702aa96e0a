// A grid of what-ifs, point by point, on one machine or as a Slurm job array.
//
// Every point has a file of its own in the sweep's folder, written whole or not at all, whose first line
// names what it depends on: a task that was killed is run again, and computes only what is missing.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/process/process.h"
#include "launch/sweep/sweep_files.h"

namespace trnplan::launch {

/// What is found out about a point.
using AnswerPoint = std::function<io::SweepRow(const io::SweepPoint&)>;

struct Sweep {
  io::SweepGrid grid;
  AnswerPoint answer;            ///< deterministic
  std::filesystem::path folder;  ///< of the shards
  std::string key;               ///< of all that the answers depend on: shards of another key are not used
};

/// The key: 64-bit FNV-1a of the texts, in hex.
std::string sweep_key(const std::vector<std::string>& texts);

/// Indices without a shard of this key, ascending.
std::vector<std::size_t> missing(const Sweep& sweep);

/// Computes the missing points that are `task` modulo `tasks`; `done` is called after each. Throws InputError
/// when a shard cannot be written.
void run_task(const Sweep& sweep, int task, int tasks, const std::function<void()>& done = {});

/// All shards as one CSV. Precondition: none is missing.
std::string collect(const Sweep& sweep);

struct SweepJob {
  std::string program;  ///< trnplan, absolute
  std::filesystem::path grid, folder;
  std::string partition;
  int tasks = 1;
  std::vector<std::string> options;  ///< of `trnplan sweep` besides --out and --task
};
/// Submits the tasks that have missing points, as one job array; returns its id. The script stands in the
/// folder. Throws SchedulerRefused (launch/scheduler/submission.h).
std::string submit_sweep(const SweepJob& job, const std::vector<std::size_t>& missing, const Runner& runner);

}  // namespace trnplan::launch
