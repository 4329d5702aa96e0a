// Measured runs beside predictions that have not seen them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "calibrate/session/step_data.h"
#include "calibrate/validate/step_validation.h"

namespace trnplan::calibrate {

/// The rows refer to `data`.
struct RunValidation {
  std::unique_ptr<StepData> data;
  StepValidation validation;
  StepValidation without_stacks;      ///< the same of fits that know no stack; no rows with LeaveOut::none
  std::vector<ExcludedRun> excluded;  ///< of those that were asked for
};

/// Fits leave out of the published rows and of those `asked` for what they predict; only the latter are scored
/// (without any all published ones). A row replaces the published one of its id. A profile that was fitted gives
/// way to its prior, but with LeaveOut::none.
[[nodiscard]] RunValidation validate_runs(const Published& published,
                                          const std::optional<std::vector<models::MeasuredRun>>& asked,
                                          const models::Profile& profile, LeaveOut leave_out,
                                          Remarks& remarks);

}  // namespace trnplan::calibrate
