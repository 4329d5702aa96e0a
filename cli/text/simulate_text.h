// Answer of `simulate`.
#pragma once

#include <string>

#include "api/simulate.h"

namespace trnplan::cli {

/// Step, time by cause, memory and doubts of the plan in some twenty lines; with `details` memory by stage, the
/// critical path and, in a scenario, the work of the cores. Whole lines, not yet wrapped. Requires: a plan.
[[nodiscard]] std::string simulate_text(const api::SimulateResult& result, bool details, int width);

}  // namespace trnplan::cli
