// Reading of the figures of published runs: what a quantity says of a step, and settings of a framework's
// older releases that its rows do not state.
//
// A step is the time from one step to the next, which sets days and dollars. Not every published quantity is
// that: a threshold of a test only bounds it, and a time that a program prints may omit a part of it.
#pragma once

#include <string>
#include <vector>

#include "models/job/strategy.h"
#include "models/uncertainty/measured_run.h"

namespace trnplan::calibrate {

/// Meaning of a quantity of a framework, from a release on.
struct QuantityReading {
  std::string quantity;      ///< text of the row, or its beginning
  std::string framework;     ///< empty: any
  std::string from_release;  ///< "2.21"; empty: from the first on
  bool at_most = false;      ///< the step took at most `ratio` x the figure; else about that long
  double ratio = 1;          ///< from the figure to the step
  double log_sd = 0;         ///< of the ratio, besides the spread of repeated runs
};

/// The precision of a framework's training script before a release, if the row does not state it.
struct PrecisionReading {
  std::string framework, before_release;
  models::Precision stated;  ///< as the row reads
  models::Precision meant;
};

struct RunReading {
  std::vector<QuantityReading> quantities;  ///< the last one that matches a row counts
  std::vector<PrecisionReading> precisions;
};

/// Reading of a row's figure. `release` is of two numbers, "2.19"; empty if unknown, which counts as before
/// no other.
[[nodiscard]] QuantityReading quantity_of(const RunReading& reading, const models::MeasuredRun& run,
                                          const std::string& framework, const std::string& release);

/// The precision that the row ran with.
[[nodiscard]] models::Precision precision_of(const RunReading& reading, models::Precision stated,
                                             const std::string& framework, const std::string& release);

}  // namespace trnplan::calibrate
