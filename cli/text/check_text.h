// Text of `check`: first the verdict and the faults.
#pragma once

#include <string>
#include <vector>

#include "planner/plan/plan.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::cli {

/// Verdict, errors, warnings and the prediction in a few lines; with `details` also notes, sources, and the
/// full prediction. `findings` by severity. Without `prediction`, the notes with the reason follow, and
/// `no_prediction`, which may be empty. `not_judged`: flags that nothing is known of. Whole lines; check_next()
/// follows everything else that is printed.
std::string check_text(const std::string& verdict, const std::vector<targets::Finding>& findings,
                       const planner::Plan* prediction, const std::string& no_prediction, bool details,
                       int width, std::size_t not_judged = 0);
/// Next steps. `command`: a command of trnplan and its purpose; may be empty.
std::string check_next(const std::vector<targets::Finding>& findings, const planner::Plan* prediction,
                       bool details, const std::string& command);

}  // namespace trnplan::cli
