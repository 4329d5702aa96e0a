// validate: predictions beside published runs, memory and uptimes.
#pragma once

#include <string>
#include <vector>

#include "calibrate/session/run_validation.h"
#include "calibrate/validate/collective_validation.h"
#include "calibrate/validate/memory_score.h"
#include "planner/cost/whatif.h"
#include "text/remarks.h"

namespace trnplan::api {

struct ValidateRequest {
  std::string runs;     ///< a CSV as the catalogue's measured-runs.csv; empty: that one
  std::string profile;  ///< "": the catalogue's
  calibrate::LeaveOut leave_out = calibrate::LeaveOut::configuration;
};

struct ValidateResult {
  calibrate::RunValidation steps;  ///< at least one row
  std::string profile;             ///< its name
};

/// Step times. Throws InputError when no row is a training run that can be predicted.
[[nodiscard]] ValidateResult validate(const ValidateRequest& request, Remarks& remarks);

struct MemoryValidationResult {
  calibrate::MemoryValidation rows;
  calibrate::MemoryScore score;
  std::string profile;
};

/// Which of the catalogue's published jobs fit by `profile` (a name or a file). Throws InputError.
[[nodiscard]] MemoryValidationResult validate_memory(const std::string& profile);

/// The catalogue's nccom-test tables, each predicted without having seen it: those that name the default
/// instance, and those of builds that have a profile of their own, "trn1-2023-04", whose fits start there. All
/// others start from `profile` (a name or a file). Throws InputError.
[[nodiscard]] std::vector<calibrate::LeftOutTable> validate_collectives(const std::string& profile);

struct UptimeValidationResult {
  std::vector<planner::CheckedUptime> rows;
  std::string profile, reliability;
};

/// How much of the time published jobs ran. Throws InputError.
[[nodiscard]] UptimeValidationResult validate_uptimes(const std::string& profile);

}  // namespace trnplan::api
