// `trnplan calibrate` when whole steps are given (published runs, or logs of a known job), or kernels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/fit/kernel_bench.h"
#include "calibrate/fit/step_fit.h"
#include "cli/step_data.h"
#include "cli/training_logs.h"
#include "logs/table/measured_collectives.h"

namespace trnplan::cli {

/// Steps of logs, and what ran when they were written.
struct RanSamples {
  std::vector<logs::StepSample> samples;
  std::optional<WhatRan> ran;
  std::string folder;  ///< that tells logs of one name apart; may be empty
};

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
};

/// A step of the user's own beside what is said of it.
struct OwnStep {
  std::string id;  ///< file and line
  double seconds = 0;
  double before = 0, before_low = 0, before_high = 0;  ///< by the profile at hand, 90 %
  double after = 0, after_low = 0, after_high = 0;     ///< by the fitted one
};

struct StepCalibration {
  std::unique_ptr<StepData> data;
  std::vector<Diagnostic> doubts;  ///< steps of the user that can hardly be of the job they are given for,
                                   ///< and kernels that can hardly be what the user says
  calibrate::StepFit fit;          ///< its profile as it is written: named, with sources, rounded
  std::vector<calibrate::KernelRow> kernels;  ///< by that profile
  std::vector<OwnStep> own;
  std::string before;  ///< name of the profile at hand
};

/// Whether these hold a step that can be fitted.
bool has_steps(const StepInputs& inputs);
/// Whether it is one of the user's own logs.
bool has_own_steps(const StepInputs& inputs);

/// Fits the prior of `profile`. A profile that was fitted already gives way to its own prior, and the
/// catalogue's runs and points, which it stands for, join the inputs (with a remark). Doubts are told. Throws
/// InputError when there is no kernel and no run is of use.
StepCalibration calibrate_steps(StepInputs inputs, const models::Profile& profile, const io::Catalog& catalog,
                                const std::string& name);

/// The user's own steps beside both predictions, in a line each, and what the fit is made from.
std::string step_answer(const StepCalibration& c);
/// Parameters with prior and posterior, stacks, what the model misses of each configuration, runs left out;
/// unless `published`, of these only what is the user's own.
std::string step_fit_text(const StepCalibration& c, bool published);

/// The file of the profile.
std::string step_profile_json(const StepCalibration& c, const io::Catalog& catalog);

}  // namespace trnplan::cli
