// Validation of the memory model as JSON (docs/json.md, "validate").
#pragma once

#include <string>

#include "calibrate/validate/memory_score.h"

namespace trnplan::io {

std::string memory_validation_json(const calibrate::MemoryValidation& v, const calibrate::MemoryScore& score,
                                   const std::string& profile);

}  // namespace trnplan::io
