// The document of calibrate --explain (docs/json.md).
#pragma once

#include <string>

#include "models/uncertainty/explained_profile.h"

namespace trnplan::io {

/// Returns a document that ends in a newline.
std::string explained_profile_json(const models::ExplainedProfile& profile);

}  // namespace trnplan::io
