// Words on the parts of strategies that differ where their layouts read alike.
#pragma once

#include <string>
#include <vector>

#include "models/job/strategy.h"

namespace trnplan::cli {

/// Words on `s` where it differs from `other` of the same degrees: recompute, cuts, schedule, loop, sequence parallel,
/// sharding, attention. Empty: none differs.
[[nodiscard]] std::vector<std::string> strategy_differences(const models::Strategy& s,
                                                            const models::Strategy& other);

}  // namespace trnplan::cli
