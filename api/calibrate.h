// calibrate: a profile fitted to logs of runs, or what the logs say.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/inputs.h"
#include "calibrate/session/collective_points.h"
#include "calibrate/session/samples.h"
#include "calibrate/session/step_calibration.h"
#include "text/remarks.h"

namespace trnplan::api {

struct CalibrateRequest {
  std::vector<std::string> files;    ///< "-" is standard input
  std::vector<std::string> runs;     ///< folders of plan --out or measure.sh that ran
  std::vector<std::string> kernels;  ///< "FILE=OP,key=value,...": of which kernel a device profile is
  calibrate::PointOptions points;
  std::string job, strategy, config;        ///< what ran when the files were written; may be empty
  StatedFiles texts;                        ///< `job` or `config`, where it stands in memory
  std::string profile;                      ///< the prior; empty: chosen by what is given
  std::string instance = usual_instance();  ///< where it was measured
  std::string out;                          ///< the profile's file; empty: it is not written
  bool force = false;                       ///< overwrite `out`, and write it though the fit explains nothing
  bool no_fit = false;                      ///< only compare what the profile says
  bool with_catalogue = false;              ///< fit the published runs along
};

/// The logs of one folder, and what it ran.
struct RunFolder {
  std::vector<calibrate::LogFile> files;
  calibrate::RanSamples log;
};

/// A fit to points, or without one what the profile says of them. The fit refers to the points.
struct CollectiveComparison {
  calibrate::Selection chosen;
  calibrate::CollectiveFit fit;
};

struct CalibrateResult {
  std::vector<calibrate::LogFile> files;               ///< of the request, then those of its folders
  std::size_t own_files = 0;                           ///< as many of them are of the request
  std::vector<calibrate::CollectiveReading> readings;  ///< one a file
  std::vector<logs::MeasuredCollective> points;        ///< of all files
  std::optional<calibrate::WhatRan> ran;               ///< of the request's files
  std::vector<logs::StepSample> steps;                 ///< of them
  std::vector<RunFolder> folders;
  std::string profile;  ///< name of what the fit started from, or was compared with

  // At most one of these; none: no file has anything for a fit.
  std::optional<std::vector<calibrate::KernelRow>> kernels;  ///< kernels alone, compared and not fitted
  std::optional<calibrate::StepCalibration> step_fit;
  std::unique_ptr<CollectiveComparison> collectives;

  /// `out` was not written: the fit explains too little, or a step or kernel is doubtful.
  bool refused = false;

  [[nodiscard]] std::vector<calibrate::LogFile> own() const;
  /// Samples of the request's files and of all folders.
  [[nodiscard]] std::vector<logs::StepSample> all_steps() const;
};

/// Files that it reads besides its profile, which it may write anew.
[[nodiscard]] std::vector<std::string> paths_read(const CalibrateRequest& request);

/// Reads the files and fits what they hold: whole steps and kernels together, else collectives. Writes `out`.
/// Throws InputError with every fault of the request and of files that are no use.
[[nodiscard]] CalibrateResult calibrate(const CalibrateRequest& request, Remarks& remarks);

}  // namespace trnplan::api
