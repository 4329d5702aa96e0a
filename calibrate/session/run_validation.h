// Measured runs and predictions that have not seen them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "calibrate/session/step_data.h"
#include "calibrate/validate/step_validation.h"

namespace trnplan::calibrate {

/// A validation of runs. The rows refer to `data`.
struct RunValidation {
  std::unique_ptr<StepData> data;
  StepValidation validation;
  StepValidation without_stacks;      ///< the same by fits without stacks; no rows with LeaveOut::none
  std::vector<ExcludedRun> excluded;  ///< among those that were asked for
};

/// Validates runs. Fits use the published rows and those `asked` without the ones that they predict; only the
/// latter are scored (all published ones if nothing is asked). A row replaces the published one of its id.
/// The prior replaces a fitted profile, except with LeaveOut::none.
[[nodiscard]] RunValidation validate_runs(const Published& published,
                                          const std::optional<std::vector<models::MeasuredRun>>& asked,
                                          const models::Profile& profile, LeaveOut leave_out,
                                          Remarks& remarks);

}  // namespace trnplan::calibrate
