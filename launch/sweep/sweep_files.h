// The files of a sweep: the grid somebody writes, and the table that comes out.
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
  std::string text;  ///< of the grid and the job: what the points depend on beside catalogue and profile
};

inline constexpr std::size_t kMostSweepPoints = 100'000;

/// Throws InputError with every fault of the grid and of its job.
SweepGrid read_sweep(const std::filesystem::path& path, const Catalog& catalog, const Files& files = disk());

/// What is found out about a point; numbers are absent where there is no plan.
struct SweepRow {
  int index = 0;
  SweepPoint point;
  std::string stack;              ///< that trains it
  std::string strategy, grammar;  ///< in words, and as --strategy takes it
  std::optional<double> step_seconds, low, high, tokens_per_second, mfu, peak_bytes;
  std::optional<double> fits, compiles, works;  ///< probabilities
  std::optional<double> goodput, days, usd, budget_probability, checkpoint_interval_seconds;
  std::string why;  ///< why there is no plan
};

/// The header and a row, as CSV (RFC 4180), each ending in a newline; numbers are the shortest that read
/// back.
std::string sweep_csv_header();
std::string sweep_csv_row(const SweepRow& row);

/// An SQLite database with the one table `sweep` and the columns of `csv`, a header and rows as above:
/// numbers as REAL or INTEGER, empty fields as NULL. Returns the bytes of the file: the same rows give the
/// same bytes with the same SQLite. Throws InputError for a CSV that is none, std::runtime_error when SQLite
/// fails.
std::string sweep_sqlite(const std::string& csv, const std::string& name);

}  // namespace trnplan::io
