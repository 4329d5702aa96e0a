// `trnplan validate [RUNS.csv]`: predicted steps beside measured ones.
#pragma once

#include <string>

#include "cli/context.h"

namespace trnplan::cli {

struct StepValidationOptions {
  std::string runs;  ///< a CSV as the catalogue's measured-runs.csv; "" = that one
  std::string leave_out = "configuration";
  bool rows = false;  ///< every row in the text, too
};

/// Fits leave out of the catalogue's rows and those of `runs` what they predict; only the latter are scored.
int validate_steps(const StepValidationOptions& options, const Common& common);

}  // namespace trnplan::cli
