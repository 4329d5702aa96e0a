// A fit to whole steps and kernels as text.
#pragma once

#include <string>
#include <vector>

#include "calibrate/session/step_calibration.h"

namespace trnplan::cli {

/// The user's own steps beside both predictions, in a line each.
std::string step_answer(const calibrate::StepCalibration& c);
/// What the fit is made from, parameters with prior and posterior, stacks, what the model misses of each
/// configuration, runs left out; unless `published`, of these only what is the user's own.
std::string step_fit_text(const calibrate::StepCalibration& c, bool published, int width);
/// A table, and the median error; "" for none.
std::string kernels_text(const std::vector<calibrate::KernelRow>& rows, int width);

}  // namespace trnplan::cli
