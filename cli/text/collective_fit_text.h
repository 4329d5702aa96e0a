// A fit to nccom-test as text.
#pragma once

#include <string>

#include "calibrate/fit/collective_fit.h"

namespace trnplan::cli {

/// Parameters with prior and posterior, and each point with its prediction.
std::string collective_fit_text(const calibrate::CollectiveFit& fit);

}  // namespace trnplan::cli
