// Changes to a refused config, in words.
#pragma once

#include <string>
#include <vector>

#include "io/output/plan_json.h"

namespace trnplan::cli {

/// Nearest configs, each with its speed and its changes; "" if there are none. Lines of a diff stay whole, the others
/// are wrapped to `width`.
std::string nearest_text(const std::vector<io::NearestJson>& nearest, int width);

}  // namespace trnplan::cli
