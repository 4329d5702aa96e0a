// A profile of a GPU that was fitted again, as text.
#pragma once

#include <string>

#include "calibrate/fit/gpu_fit.h"

namespace trnplan::cli {

/// `from_shipped`: one iteration from the shipped values.
[[nodiscard]] std::string gpu_fit_text(const calibrate::GpuFit& fit, bool from_shipped, int width);

}  // namespace trnplan::cli
