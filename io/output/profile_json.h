// A profile as a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/parameters/profile.h"

namespace trnplan::io {

/// Text of a profile that states `stated`, and of the rest only the differences from `base`, the catalogue's
/// profile of the name profile.base; everything without a base. So the file can be read wherever the
/// catalogue is. Ends in a newline; numbers are shortest round-trip, so that the same profile gives the same
/// bytes.
std::string profile_json(const models::Profile& profile, const std::optional<models::Profile>& base,
                         const std::vector<models::Parameter>& stated, const std::string& description,
                         const std::string& note);

}  // namespace trnplan::io
