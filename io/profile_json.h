// A profile as a file, and how it came about as JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "calibrate/collective_fit.h"
#include "models/profile.h"

namespace trnplan::io {

/// A profile that states `stated` and takes the rest from `base`, a name of the catalogue. Ends in a newline;
/// numbers are shortest round-trip, so that the same profile gives the same bytes.
std::string profile_json(const models::Profile& profile, const std::string& base,
                         const std::vector<models::Parameter>& stated, const std::string& description);

/// {"schema_version", "parameters": [...], "rows": [...], "summary": {...}}; see docs/json.md.
std::string collective_fit_json(const calibrate::CollectiveFit& fit);

}  // namespace trnplan::io
