// The reliability file: catalog/reliability.json, or one of the user in the same form.
#pragma once

#include "planner/cost/reliability.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the parameters. Every parameter but spot_interruption is required, with median, log_sd, unit and
/// source; `published` may be absent. Throws InputError with all faults.
planner::Reliability reliability_from(const Node& node);

}  // namespace trnplan::io
