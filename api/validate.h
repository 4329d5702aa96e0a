// validate: predictions compared with published runs, memory and uptimes.
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
  std::string runs;     ///< a CSV like the catalogue's measured-runs.csv; empty = that one
  std::string profile;  ///< "" = the catalogue's
  calibrate::LeaveOut leave_out = calibrate::LeaveOut::configuration;
};

struct ValidateResult {
  calibrate::RunValidation steps;  ///< at least one row
  std::string profile;             ///< its name
};

/// Validates step times. Throws InputError if no row is a training run that can be predicted.
[[nodiscard]] ValidateResult validate(const ValidateRequest& request, Remarks& remarks);

struct MemoryValidationResult {
  calibrate::MemoryValidation rows;
  calibrate::MemoryScore score;
  std::string profile;
};

/// Predicts by `profile` (a name or a file) which of the catalogue's published jobs fit. Throws InputError.
[[nodiscard]] MemoryValidationResult validate_memory(const std::string& profile);

/// Predicts each of the catalogue's nccom-test tables by a fit that has not seen it: those that name the
/// default instance, and those of builds with a profile of their own, "trn1-2023-04", from which their fits
/// start. All other fits start from `profile` (a name or a file). Throws InputError.
[[nodiscard]] std::vector<calibrate::LeftOutTable> validate_collectives(const std::string& profile);

struct UptimeValidationResult {
  std::vector<planner::CheckedUptime> rows;
  std::string profile, reliability;
};

/// Predicts the share of time that published jobs ran. Throws InputError.
[[nodiscard]] UptimeValidationResult validate_uptimes(const std::string& profile);

}  // namespace trnplan::api
