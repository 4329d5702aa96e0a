// What `plan --details` says after the answer (cli/text/plan_answer.h), but for the plans themselves
// (cli/text/text.h). All return whole lines.
#pragma once

#include <string>

#include "cli/text/plan_answer.h"

namespace trnplan::cli {

/// Everything else: the ranking, the best plan in detail, what holds it back, what was refused and why.
std::string search_details(const Answer& a, int width);

}  // namespace trnplan::cli
