// Fits to nccom-test as text and as a profile.
#pragma once

#include <string>
#include <vector>

#include "calibrate/fit/collective_fit.h"
#include "cli/collective_points.h"
#include "io/catalog/catalog.h"

namespace trnplan::cli {

/// Parameters with prior and posterior, and each point beside its prediction.
std::string collective_fit_text(const calibrate::CollectiveFit& fit);

/// The file of the fitted profile, which says what it was fitted to.
std::string collective_profile_json(const calibrate::CollectiveFit& fit, const io::Catalog& catalog,
                                    const std::vector<CollectiveReading>& readings, const std::string& name,
                                    const std::string& instance);

}  // namespace trnplan::cli
