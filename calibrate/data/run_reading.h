// How the figures of published runs are to be read: what a quantity says of a step, and what a framework's
// older releases did that its rows do not state.
//
// A step is the time from one step to the next, which sets days and dollars. Not every published quantity is
// that: a threshold of a test only bounds it, and a time that a program prints may leave a part of it out.
#pragma once

#include <string>
#include <vector>

#include "models/job/strategy.h"
#include "models/uncertainty/measured_run.h"

namespace trnplan::calibrate {

/// What a quantity of a framework says, from a release on.
struct QuantityReading {
  std::string quantity;      ///< as the row has it, or how it starts
  std::string framework;     ///< empty: any
  std::string from_release;  ///< "2.21"; empty: from the first on
  bool at_most = false;      ///< the step took no longer than `ratio` x the figure; else about that long
  double ratio = 1;          ///< from the figure to the step
  double log_sd = 0;         ///< of it, beside the spread of repeated runs
};

/// The precision that a framework's training script had before a release, where the row does not tell.
struct PrecisionReading {
  std::string framework, before_release;
  models::Precision stated;  ///< as the row reads
  models::Precision meant;
};

struct RunReading {
  std::vector<QuantityReading> quantities;  ///< of those that match a row the last one counts
  std::vector<PrecisionReading> precisions;
};

/// A row's figure. `release` is of two numbers, "2.19"; empty where not known, which is before none.
[[nodiscard]] QuantityReading quantity_of(const RunReading& reading, const models::MeasuredRun& run,
                                          const std::string& framework, const std::string& release);

/// The precision it ran with.
[[nodiscard]] models::Precision precision_of(const RunReading& reading, models::Precision stated,
                                             const std::string& framework, const std::string& release);

}  // namespace trnplan::calibrate
