// What `check` says: the verdict and what is wrong first.
#pragma once

#include <string>
#include <vector>

#include "planner/plan/plan.h"
#include "targets/nxdt/nxdt_config.h"

namespace trnplan::cli {

/// Verdict, errors, warnings and the prediction in a few lines; with `details` also notes, sources, and the
/// prediction in full. `findings` by severity; without `prediction` the notes that say why stand there, and
/// `no_prediction`, which may be empty. Whole lines, and check_next() behind all else that is printed.
std::string check_text(const std::string& verdict, const std::vector<targets::Finding>& findings,
                       const planner::Plan* prediction, const std::string& no_prediction, bool details,
                       int width);
/// What to do next. `command`: a command of trnplan and what it does; may be empty.
std::string check_next(const std::vector<targets::Finding>& findings, const planner::Plan* prediction,
                       bool details, const std::string& command);

}  // namespace trnplan::cli
