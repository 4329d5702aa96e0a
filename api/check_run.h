// Checks files of targets other than NxDT: configs, and scripts that start a run. Private to check.
#pragma once

#include "api/check.h"
#include "io/catalog/catalog.h"
#include "planner/plan/target.h"

namespace trnplan::api {

/// Judges the run that the file describes, on the cluster that the request names or the file states. Throws
/// InputError.
[[nodiscard]] CheckResult checked_run(const CheckRequest& request, const planner::Target& target,
                                      const io::Catalog& catalog);

}  // namespace trnplan::api
