// Text of `plan --details` after the answer (cli/text/plan_answer.h), except the plans themselves
// (cli/text/text.h). All functions return whole lines.
#pragma once

#include <string>

#include "cli/text/plan_answer.h"

namespace trnplan::cli {

/// Everything else: the ranking, the best plan in detail, its bottlenecks, and the refusals with their
/// reasons.
std::string search_details(const Answer& a, int width);

}  // namespace trnplan::cli
