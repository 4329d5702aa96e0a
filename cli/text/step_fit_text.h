// A fit to whole steps and kernels as text.
#pragma once

#include <string>
#include <vector>

#include "calibrate/session/step_calibration.h"

namespace trnplan::cli {

/// The user's own steps with both predictions, one line each.
std::string step_answer(const calibrate::StepCalibration& c);
/// Data of the fit, parameters with prior and posterior, stacks, remaining errors of each configuration, and
/// runs left out. Without `published`, only the user's own among these.
std::string step_fit_text(const calibrate::StepCalibration& c, bool published, int width);
/// A table, and the median error; "" for no rows.
std::string kernels_text(const std::vector<calibrate::KernelRow>& rows, int width);

}  // namespace trnplan::cli
