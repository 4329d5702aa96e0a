// Answer of calibrate on kernels and collectives that were timed on a machine.
#pragma once

#include <string>

#include "api/calibrate.h"

namespace trnplan::cli {

/// The taught parameters, the rows that contradict, and the change for the job; with `details` also each row.
/// Requires: the result has a machine.
[[nodiscard]] std::string machine_fit_text(const api::CalibrateResult& result, bool details, int width);

}  // namespace trnplan::cli
