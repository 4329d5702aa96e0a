// A grid of what-ifs, computed point by point, on one machine or as a Slurm job array.
//
// Every point has a file of its own in the sweep's folder, written atomically. Its first line names
// everything that the point depends on. A task that was killed can be run again, and computes only the
// missing points.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "launch/process/process.h"
#include "launch/sweep/sweep_files.h"

namespace trnplan::launch {

/// Computes the row of a point.
using AnswerPoint = std::function<io::SweepRow(const io::SweepPoint&)>;

struct Sweep {
  io::SweepGrid grid;
  AnswerPoint answer;            ///< deterministic
  std::filesystem::path folder;  ///< of the shards
  /// Identifies all inputs of the answers; shards with another key are not used.
  std::string key;
};

/// Key of the texts: 64-bit FNV-1a, in hex.
std::string sweep_key(const std::vector<std::string>& texts);

/// Indices of points without a shard of this key, ascending.
std::vector<std::size_t> missing(const Sweep& sweep);

/// Computes the missing points that are `task` modulo `tasks`; calls `done` after each. Throws InputError if
/// a shard cannot be written.
void run_task(const Sweep& sweep, int task, int tasks, const std::function<void()>& done = {});

/// All shards as one CSV. Requires: none is missing.
std::string collect(const Sweep& sweep);

struct SweepJob {
  std::string program;  ///< trnplan, absolute path
  std::filesystem::path grid, folder;
  std::string partition;
  int tasks = 1;
  std::vector<std::string> options;  ///< of `trnplan sweep`, except --out and --task
};
/// Submits the tasks with missing points as one job array, and returns its id. The script is written into the
/// folder. Throws SchedulerRefused (launch/scheduler/submission.h).
std::string submit_sweep(const SweepJob& job, const std::vector<std::size_t>& missing, const Runner& runner);

}  // namespace trnplan::launch
