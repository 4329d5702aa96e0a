// Published jobs that fit, and the share of time that jobs ran, as text.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/collective_validation.h"
#include "calibrate/validate/memory_score.h"
#include "planner/cost/whatif.h"

namespace trnplan::cli {

std::string memory_validation_text(const calibrate::MemoryValidation& v, const calibrate::MemoryScore& score,
                                   int width);
/// Each left-out table, and all of them.
std::string collective_validation_text(const std::vector<calibrate::LeftOutTable>& tables);
std::string uptime_text(const std::vector<planner::CheckedUptime>& rows, int width);

}  // namespace trnplan::cli
