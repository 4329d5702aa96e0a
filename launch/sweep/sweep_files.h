// Files of a sweep: the grid that a user writes, and the resulting table.
//
//   job: job.yaml                       # relative to the grid
//   tokens: 2T                          # of the whole run, unless the job states them
//   nodes: [4, 8, 16]                   # each list may be left out: then it is as in the job
//   instances: [trn1.32xlarge, trn1n.32xlarge]
//   sequence: [4096, 8192]
//   global_batch: [512, 1024]
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/input/readers.h"

namespace trnplan::io {

/// One what-if.
struct SweepPoint {
  std::string instance;
  int nodes = 1, sequence = 0, global_batch = 0;
};

struct SweepGrid {
  JobReading job;
  double tokens = 0;
  std::vector<SweepPoint> points;  ///< instances, then nodes, sequences, batches; the last changes fastest
  std::string text;  ///< of the grid and the job: the points' inputs except catalogue and profile
};

inline constexpr std::size_t kMostSweepPoints = 100'000;

/// Reads a grid. Throws InputError with every fault of the grid and of its job.
SweepGrid read_sweep(const std::filesystem::path& path, const Catalog& catalog, const Files& files = disk());

/// Results of a point; numbers are absent if there is no plan.
struct SweepRow {
  int index = 0;
  SweepPoint point;
  std::string stack;              ///< that trains it
  std::string strategy, grammar;  ///< in words, and in the form of --strategy
  std::optional<double> step_seconds, low, high, tokens_per_second, mfu, peak_bytes;
  std::optional<double> fits, compiles, works;  ///< probabilities
  std::optional<double> goodput, days, usd, budget_probability, checkpoint_interval_seconds;
  std::string why;  ///< reason why there is no plan
};

/// Header and row as CSV (RFC 4180), each ending in a newline. Numbers have the shortest form that reads back
/// exactly.
std::string sweep_csv_header();
std::string sweep_csv_row(const SweepRow& row);

/// SQLite database with one table `sweep` and the columns of `csv`, that is, a header and rows as above.
/// Numbers become REAL or INTEGER, empty fields NULL. Returns the bytes of the file; the same rows give the
/// same bytes with the same SQLite. Throws InputError for text that is not such a CSV, std::runtime_error if
/// SQLite fails.
std::string sweep_sqlite(const std::string& csv, const std::string& name);

}  // namespace trnplan::io
