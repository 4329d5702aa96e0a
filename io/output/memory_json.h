// Validation of the memory model as JSON (docs/json.md, "validate").
#pragma once

#include <string>

#include "calibrate/validate/memory_validation.h"

namespace trnplan::io {

std::string memory_validation_json(const calibrate::MemoryValidation& v, const std::string& profile);

}  // namespace trnplan::io
