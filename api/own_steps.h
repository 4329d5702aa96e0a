// A user's own steps as plan and simulate see them.
#pragma once

#include <string>

#include "calibrate/session/step_calibration.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"

namespace trnplan::api {

/// Training loop by which plan runs the strategy.
[[nodiscard]] std::string planned_loop(const models::Job& job, const models::Strategy& strategy);

/// Gives the user's own steps the intervals that simulate states before and after the fit, where it predicts the
/// same step. `prior`: the profile before. Cost: two simulations a step.
void state_intervals(calibrate::StepCalibration& c, const models::Profile& prior);

}  // namespace trnplan::api
