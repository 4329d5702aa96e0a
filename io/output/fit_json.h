// Answers of `calibrate`: fits and their inputs, as JSON for scripts (docs/json.md, calibrate).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/data/run_jobs.h"
#include "calibrate/fit/collective_fit.h"
#include "calibrate/fit/kernel_bench.h"
#include "calibrate/fit/machine_fit.h"
#include "calibrate/fit/step_fit.h"
#include "logs/detect/detect.h"

namespace trnplan::io {

/// Content of a log or profile. Invalid UTF-8 in a path or text is replaced.
struct ReadLog {
  std::string path;
  const logs::Detected* content;
};
/// All files that were read, and the samples that can be compared with predictions.
struct ReadLogs {
  std::vector<ReadLog> files;
  std::vector<logs::StepSample> steps;
};

/// All return a document that ends in a newline.
std::string step_fit_json(const calibrate::StepFit& fit, const std::vector<calibrate::ExcludedRun>& left_out,
                          const std::vector<calibrate::KernelRow>& kernels, const ReadLogs& logs);
/// Predictions of kernels by `profile`, without a fit.
std::string kernels_json(const std::vector<calibrate::KernelRow>& kernels, const std::string& profile,
                         const ReadLogs& logs);
std::string collective_fit_json(const calibrate::CollectiveFit& fit,
                                const std::vector<calibrate::LeftOut>& left_out, const std::string& instance,
                                const ReadLogs& logs);
/// A plan's step before and after, and its strategy; absent: no plan.
struct ShownSide {
  std::string strategy;
  double step = 0, low = 0, high = 0;
};
struct ShownChange {
  std::string job;
  std::optional<ShownSide> before, held, after;
};
std::string machine_fit_json(const calibrate::MachineFit& fit, const std::string& prior,
                             const std::string& instance, const std::optional<ShownChange>& change,
                             const ReadLogs& logs);
/// Logs without a fit.
std::string logs_json(const std::string& instance, const ReadLogs& logs);

}  // namespace trnplan::io
