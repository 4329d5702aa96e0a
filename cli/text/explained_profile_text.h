// A profile as a document, as text.
#pragma once

#include <string>

#include "models/uncertainty/explained_profile.h"

namespace trnplan::cli {

/// Tells for what it holds, then the parameters: those that the plan depends on first, if there is one. Without
/// `details` only those that it depends on, or that were learnt, unless two profiles are compared.
[[nodiscard]] std::string explained_profile_text(const models::ExplainedProfile& profile, bool details,
                                                 int width);

}  // namespace trnplan::cli
