// The fits of GPU profiles to tables of runs: catalog/gpu-fits.json.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/gpu_fit.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads all fits. Parameters are those of the schema of GPUs, "kernel_pace@fsdp1" one with a scope. Throws
/// InputError with all faults.
[[nodiscard]] std::vector<calibrate::GpuFitPlan> gpu_fits_from(const Node& node);

}  // namespace trnplan::io
