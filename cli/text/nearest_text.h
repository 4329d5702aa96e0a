// What to change in a config that is refused, in words.
#pragma once

#include <string>
#include <vector>

#include "io/output/plan_json.h"
#include "targets/nxdt/nearest.h"

namespace trnplan::cli {

/// With the diff of each: keys that an interpolation changes along are no longer among its changes.
std::vector<io::NearestJson> with_diffs(std::vector<targets::NearConfig> near, const std::string& text,
                                        const targets::NxdtConfig& config);

/// The nearest configs, each with its speed and what to change; "" when there are none.
std::string nearest_text(const std::vector<io::NearestJson>& nearest);

}  // namespace trnplan::cli
