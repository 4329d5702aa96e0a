// Which published jobs fit, and how much of the time they ran, as text.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/memory_score.h"
#include "planner/cost/whatif.h"

namespace trnplan::cli {

std::string memory_validation_text(const calibrate::MemoryValidation& v, const calibrate::MemoryScore& score,
                                   int width);
std::string uptime_text(const std::vector<planner::CheckedUptime>& rows, int width);

}  // namespace trnplan::cli
