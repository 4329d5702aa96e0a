// A fit to whole steps (published runs, or logs of a known job), or kernels: its inputs, its start and its
// doubts.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/kernel_bench.h"
#include "calibrate/fit/site_fit.h"
#include "calibrate/fit/step_fit.h"
#include "calibrate/session/samples.h"
#include "calibrate/session/step_data.h"
#include "logs/table/measured_collectives.h"

namespace trnplan::calibrate {

/// All inputs of one fit.
struct StepInputs {
  std::vector<models::MeasuredRun> runs;
  std::vector<logs::MeasuredCollective> points;  ///< of one nccom-test build
  std::vector<RanSamples> logs;
  bool with_catalogue = false;  ///< the catalogue's runs join, whatever the profile was fitted to
  std::vector<models::CalibrationFile> files;
  std::vector<models::CalibrationFile>
      starts;  ///< first bytes of those files that a profile has learnt as a whole file
  std::vector<logs::MeasuredKernel> kernels;
  topology::Core core;         ///< core that the kernels ran on
  bool profile_stated = true;  ///< false: chosen by the inputs
  std::string tool;            ///< program that fits, with its version
};

/// A step of the user's own and its predictions.
struct OwnStep {
  std::string id;                                      ///< file and line
  double seconds = 0, printed = 0;                     ///< as of MeasuredStep
  bool by_rate = false;                                ///< likewise
  double before = 0, before_low = 0, before_high = 0;  ///< by the current profile, 90 %
  double after = 0, after_low = 0, after_high = 0;     ///< by the fitted one
  std::string file;                                    ///< path of its log
  double peak = 0;  ///< predicted bytes of the fullest device; 0: not predicted
  double allocated =
      0;  ///< of these by the framework, where the run has one stage; else 0: a log is of any stage
};

struct StepCalibration {
  std::unique_ptr<StepData> data;
  std::vector<Diagnostic> doubts;  ///< steps of the user that can hardly be of the job they are given for,
                                   ///< and kernels that can hardly be what the user says
  StepFit fit;                     ///< with the profile as it is written: named, with sources, rounded
  std::vector<KernelRow> kernels;  ///< by that profile
  std::vector<OwnStep> own;
  std::vector<SiteRun> site_runs;  ///< the user's logs, one run each
  std::vector<SiteRow> site_rows;  ///< of the fit, as site_runs
  bool refitted = false;  ///< the priors were fitted anew to tables; false: only the user's runs were learnt
  std::string before;     ///< name of the current profile
  std::string
      parameters_of;  ///< name of the profile that has its parameters, which the factors of sites multiply
};

/// Throws InputError if the profile has already learnt one of the files, or the start of one.
void refuse_learnt(const std::vector<models::CalibrationFile>& files,
                   const std::vector<models::CalibrationFile>& starts, const models::Profile& profile);
/// Rounds the values as in a file, so that the profile predicts the same before and after it was written.
void round_values(models::Profile& profile, const std::vector<models::Parameter>& parameters);
/// Adds the files to a calibration, each once, by name.
void add_files(models::Calibration& calibration, const std::vector<models::CalibrationFile>& files);

/// True if the inputs hold a step that can be fitted.
[[nodiscard]] bool has_steps(const StepInputs& inputs);
/// True if such a step is from the user's own logs.
[[nodiscard]] bool has_own_steps(const StepInputs& inputs);

/// Learns the user's own runs by fit_site(), from `profile` as it is. Tables of runs, points and kernels are
/// fitted before that, from the prior of `profile`: the catalogue's runs and points, which a fitted profile
/// represents, then join the inputs (with a remark). Reports doubts. Throws InputError if there is no kernel
/// and no useful run, or if `profile` has already learnt a log.
[[nodiscard]] StepCalibration calibrate_steps(StepInputs inputs, const models::Profile& profile,
                                              const Published& published, const std::string& name,
                                              Remarks& remarks);

}  // namespace trnplan::calibrate
