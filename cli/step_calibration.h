// `trnplan calibrate` when whole steps are given: published runs, or logs of a known job.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/measured_collectives.h"
#include "calibrate/step_fit.h"
#include "cli/step_data.h"
#include "cli/training_logs.h"

namespace trnplan::cli {

/// All that one fit is made from.
struct StepInputs {
  std::vector<models::MeasuredRun> runs;
  std::vector<calibrate::MeasuredCollective> points;  ///< of one nccom-test build
  std::vector<calibrate::StepSample> samples;         ///< of `ran`
  std::optional<WhatRan> ran;
  std::vector<models::CalibrationFile> files;
};

struct StepCalibration {
  std::unique_ptr<StepData> data;
  calibrate::StepFit fit;  ///< its profile as it is written: named, with sources, rounded
};

/// Whether these hold a step that can be fitted.
bool has_steps(const StepInputs& inputs);

/// Fits the prior of `profile`. A profile that was fitted already gives way to its own prior, and the
/// catalogue's runs and points, which it stands for, join the inputs (with a remark). Throws InputError when
/// no run is of use.
StepCalibration calibrate_steps(StepInputs inputs, const models::Profile& profile, const io::Catalog& catalog,
                                const std::string& name);

/// Parameters with prior and posterior, stacks, what the model misses of each configuration, runs left out.
std::string step_fit_text(const StepCalibration& c);

/// The file of the profile.
std::string step_profile_json(const StepCalibration& c, const io::Catalog& catalog);

}  // namespace trnplan::cli
