// A user's own steps as plan and simulate see them.
#pragma once

#include <string>
#include <vector>

#include "calibrate/session/samples.h"
#include "calibrate/session/step_calibration.h"
#include "models/job/job.h"
#include "models/parameters/profile.h"
#include "text/remarks.h"

namespace trnplan::api {

/// Training loop by which plan runs the strategy.
[[nodiscard]] std::string planned_loop(const models::Job& job, const models::Strategy& strategy);

/// Gives the user's own steps the predictions that simulate states before and after the fit, where it predicts the
/// same step, their logs and memory. `prior`: the profile before, asked for as `named`, which may hold observations.
/// Cost: two simulations a step.
void state_intervals(calibrate::StepCalibration& c, const models::Profile& prior, const std::string& named);

/// Adds a remark on logs that state more memory than is predicted, or less, which is not learnt. Requires:
/// state_intervals().
void remark_memory(const calibrate::StepCalibration& c, const std::vector<calibrate::LogFile>& files,
                   Remarks& remarks);

}  // namespace trnplan::api
