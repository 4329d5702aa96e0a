// calibrate: a profile fitted to logs of runs, or a comparison of a profile with the logs.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/inputs.h"
#include "api/log_files.h"
#include "api/machine_change.h"
#include "calibrate/session/collective_points.h"
#include "calibrate/session/machine_calibration.h"
#include "calibrate/session/samples.h"
#include "calibrate/session/step_calibration.h"
#include "text/remarks.h"

namespace trnplan::api {

struct CalibrateRequest {
  std::vector<std::string> files;    ///< "-" is standard input
  std::vector<std::string> runs;     ///< folders of plan --out or measure.sh that ran
  std::vector<std::string> kernels;  ///< "FILE=OP,key=value,...": kernel of a device profile
  calibrate::PointOptions points;
  std::string job, strategy, config;  ///< what ran when the files were written; may be empty
  StatedFiles texts;                  ///< `job` or `config`, if in memory
  std::string profile;                ///< prior; empty = chosen by the kind of files
  std::string instance;  ///< machine that was measured; "" = the job's, else the catalogue's default
  std::string out;       ///< file of the profile; empty = not written
  /// Overwrites `out`, and writes it even if the fit explains nothing.
  bool force = false;
  bool no_fit = false;          ///< only compares the profile with the files
  bool with_catalogue = false;  ///< also fits the published runs
};

/// Fit to points or, without one, the profile's predictions for them. The fit refers to the points.
struct CollectiveComparison {
  calibrate::Selection chosen;
  calibrate::CollectiveFit fit;
};

struct CalibrateResult {
  std::vector<calibrate::LogFile> files;               ///< of the request, then those of its folders
  std::size_t own_files = 0;                           ///< number of files from the request
  std::vector<calibrate::CollectiveReading> readings;  ///< one per file
  std::vector<logs::MeasuredCollective> points;        ///< of all files
  std::optional<calibrate::WhatRan> ran;               ///< of the request's files
  std::vector<logs::StepSample> steps;                 ///< of the request's files
  std::vector<RunFolder> folders;
  std::string instance;  ///< type of the machine that was measured, unless a job states it
  std::string profile;   ///< name of the prior, or of the profile compared

  std::optional<calibrate::MachineCalibration> machine;  ///< of the user's kernels and nccl-tests
  std::optional<MachineChange> change;                   ///< by `machine` for the job, if one is given

  // At most one of these and `machine`; none if no file has data for a fit.
  std::optional<std::vector<calibrate::KernelRow>> kernels;  ///< kernels alone, compared and not fitted
  std::optional<calibrate::StepCalibration> step_fit;
  std::unique_ptr<CollectiveComparison> collectives;

  /// True if `out` was not written: the fit explains too little or did not converge, or a step or kernel is
  /// doubtful.
  bool refused = false;

  /// False if it has a fit that did not converge.
  [[nodiscard]] bool converged() const;
  [[nodiscard]] std::vector<calibrate::LogFile> own() const;
  /// Samples of the request's files and of all folders.
  [[nodiscard]] std::vector<logs::StepSample> all_steps() const;
};

/// Files that it reads, except its profile, which it may overwrite.
[[nodiscard]] std::vector<std::string> paths_read(const CalibrateRequest& request);

/// Reads the files and fits whole steps and kernels together, or else collectives. Writes `out`. Throws
/// InputError with every fault of the request and of unusable files.
[[nodiscard]] CalibrateResult calibrate(const CalibrateRequest& request, Remarks& remarks);

}  // namespace trnplan::api
