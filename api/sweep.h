// sweep: a grid of what-ifs, computed here or as a Slurm job array, and its table.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "launch/process/process.h"
#include "planner/search/advisor.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Texts as a user writes them; empty = not stated.
struct SweepRequest {
  std::string grid;
  std::string profile;  ///< "" = the catalogue's for each machine
  planner::RiskAttitude risk = planner::RiskAttitude::neutral;
  /// USD for the whole run, "2.5M"; each point gets the probability of keeping it.
  std::string budget;
  std::string pricing = "usual";    ///< of the nodes
  std::string out;                  ///< folder of the results; empty = GRID.sweep
  std::string scheduler = "local";  ///< or slurm
  std::string partition;            ///< of Slurm
  int tasks = 16;                   ///< of the job array
  std::string task;                 ///< "3/16": only the work of one task of the array
  bool collect = false;             ///< computes nothing
};

struct SweepResult {
  std::filesystem::path folder;
  std::size_t points = 0;
  std::vector<std::size_t> missing;   ///< not computed on return, ascending; not determined for a task
  std::string job;                    ///< id of the job array that computes them; "" = none was submitted
  std::filesystem::path csv, sqlite;  ///< the table, if written
};

/// Computes the missing points, or submits them, and writes the table once none is missing. Throws
/// InputError; launch::SchedulerRefused. `runner` runs the scheduler's programs.
[[nodiscard]] SweepResult sweep(const SweepRequest& request, Remarks& remarks,
                                const launch::Runner& runner = launch::run_program);

}  // namespace trnplan::api
