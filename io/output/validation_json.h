// Predicted and measured steps, as JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "calibrate/session/run_validation.h"
#include "calibrate/validate/collective_validation.h"

namespace trnplan::io {

/// Both return a document (docs/json.md, validate) that ends in a newline.
std::string step_validation_json(const calibrate::RunValidation& v, const std::string& profile,
                                 calibrate::LeaveOut leave_out);

/// Tables of nccom-test that were left out, and the summary of all.
std::string collective_validation_json(const std::vector<calibrate::LeftOutTable>& tables,
                                       const std::string& profile);

}  // namespace trnplan::io
