// Predicted steps compared with measured ones, as text.
#pragma once

#include <string>
#include <vector>

#include "calibrate/session/run_validation.h"

namespace trnplan::cli {

/// Errors and coverage by kind, network, stack and configuration, ratios and regrets; with `rows` also every
/// row.
std::string step_validation_text(const calibrate::RunValidation& v, bool rows);

}  // namespace trnplan::cli
