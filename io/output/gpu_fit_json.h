// The document of calibrate --gpu (docs/json.md).
#pragma once

#include <string>

#include "calibrate/fit/gpu_fit.h"

namespace trnplan::io {

/// Returns a document that ends in a newline.
std::string gpu_fit_json(const calibrate::GpuFit& fit);

}  // namespace trnplan::io
