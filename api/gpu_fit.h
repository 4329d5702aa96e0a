// calibrate --gpu: a shipped profile of a GPU fitted again to a table of runs.
#pragma once

#include <string>

#include "calibrate/fit/gpu_fit.h"
#include "text/remarks.h"

namespace trnplan::api {

struct GpuFitRequest {
  std::string table;    ///< in the columns of catalog/gpu-runs.csv
  std::string profile;  ///< of a fit of catalog/gpu-fits.json
  bool no_fit = false;  ///< one iteration from the shipped values, instead of all from the prior
};

/// Rows that the fit's sources name are read as `validate --measured` reads them. Throws InputError: no such
/// fit, or a table without its rows. Cost: minutes on a core; a third of that for one iteration.
[[nodiscard]] calibrate::GpuFit fit_gpu(const GpuFitRequest& request, Remarks& remarks);

}  // namespace trnplan::api
