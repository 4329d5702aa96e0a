// What to change in a config that is refused, in words.
#pragma once

#include <string>
#include <vector>

#include "io/output/plan_json.h"

namespace trnplan::cli {

/// The nearest configs, each with its speed and what to change; "" when there are none. Lines of a diff stay whole, the
/// others are wrapped to `width`.
std::string nearest_text(const std::vector<io::NearestJson>& nearest, int width);

}  // namespace trnplan::cli
