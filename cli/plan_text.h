// What `plan` says as text, but for the plans themselves (cli/text.h). All return whole lines.
#pragma once

#include <string>

#include "models/job.h"
#include "planner/baseline.h"
#include "planner/measurement.h"
#include "planner/search.h"

namespace trnplan::cli {

/// The whole answer. `baseline` may be null. `script`: measure.sh
/// where it was written, else empty.
std::string search_text(const models::Job& job, const planner::SearchResult& result,
                        const planner::Certainty& certainty, const planner::Baseline* baseline,
                        const std::string& baseline_file, const std::string& script);

}  // namespace trnplan::cli
