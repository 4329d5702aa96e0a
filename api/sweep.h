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

/// Texts as a person writes them; empty: not stated.
struct SweepRequest {
  std::string grid;
  std::string profile;  ///< "": the catalogue's for each machine
  planner::RiskAttitude risk = planner::RiskAttitude::neutral;
  std::string budget;               ///< USD of the whole run, "2.5M": how surely each point keeps it
  std::string pricing = "usual";    ///< of the nodes
  std::string out;                  ///< folder of the results; GRID.sweep when empty
  std::string scheduler = "local";  ///< or slurm
  std::string partition;            ///< of Slurm
  int tasks = 16;                   ///< of the job array
  std::string task;                 ///< "3/16": what one task of the array does, and nothing else
  bool collect = false;             ///< nothing is computed
};

struct SweepResult {
  std::filesystem::path folder;
  std::size_t points = 0;
  std::vector<std::size_t> missing;   ///< not computed when this returns, ascending; of a task not looked at
  std::string job;                    ///< id of the job array that computes them; "" none was submitted
  std::filesystem::path csv, sqlite;  ///< the table, where it was written
};

/// Computes points that are missing, or submits them, and writes the table when none is. Throws InputError;
/// launch::SchedulerRefused. `runner` runs the scheduler's programs.
[[nodiscard]] SweepResult sweep(const SweepRequest& request, Remarks& remarks,
                                const launch::Runner& runner = launch::run_program);

}  // namespace trnplan::api
