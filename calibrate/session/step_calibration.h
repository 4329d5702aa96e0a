// A fit to whole steps (published runs, or logs of a known job), or kernels: what joins it, what it starts from and
// what in it is doubtful.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/kernel_bench.h"
#include "calibrate/fit/step_fit.h"
#include "calibrate/session/samples.h"
#include "calibrate/session/step_data.h"
#include "logs/table/measured_collectives.h"

namespace trnplan::calibrate {

/// All that one fit is made from.
struct StepInputs {
  std::vector<models::MeasuredRun> runs;
  std::vector<logs::MeasuredCollective> points;  ///< of one nccom-test build
  std::vector<RanSamples> logs;
  bool with_catalogue = false;  ///< the catalogue's runs join, whatever the profile was fitted to
  std::vector<models::CalibrationFile> files;
  std::vector<logs::MeasuredKernel> kernels;
  topology::Core core;         ///< that the kernels ran on
  bool profile_stated = true;  ///< false: chosen because of what is given
  std::string tool;            ///< that fits, with its version
};

/// A step of the user's own beside what is said of it.
struct OwnStep {
  std::string id;                                      ///< file and line
  double seconds = 0, printed = 0;                     ///< as of MeasuredStep
  double before = 0, before_low = 0, before_high = 0;  ///< by the profile at hand, 90 %
  double after = 0, after_low = 0, after_high = 0;     ///< by the fitted one
};

struct StepCalibration {
  std::unique_ptr<StepData> data;
  std::vector<Diagnostic> doubts;  ///< steps of the user that can hardly be of the job they are given for,
                                   ///< and kernels that can hardly be what the user says
  StepFit fit;                     ///< its profile as it is written: named, with sources, rounded
  std::vector<KernelRow> kernels;  ///< by that profile
  std::vector<OwnStep> own;
  std::string before;  ///< name of the profile at hand
};

/// Whether these hold a step that can be fitted.
[[nodiscard]] bool has_steps(const StepInputs& inputs);
/// Whether it is one of the user's own logs.
[[nodiscard]] bool has_own_steps(const StepInputs& inputs);

/// Fits the prior of `profile`. A profile that was fitted already gives way to its own prior, and the
/// catalogue's runs and points, which it stands for, join the inputs (with a remark). Doubts are told. Throws
/// InputError when there is no kernel and no run is of use.
[[nodiscard]] StepCalibration calibrate_steps(StepInputs inputs, const models::Profile& profile,
                                              const Published& published, const std::string& name,
                                              Remarks& remarks);

}  // namespace trnplan::calibrate
