// Comparison of clusters, and of published uptimes with predicted ones, as JSON (docs/json.md).
#pragma once

#include <string>
#include <vector>

#include "models/job/job.h"
#include "planner/cost/whatif.h"

namespace trnplan::io {

/// Both return a document that ends in a newline.
std::string whatif_json(const planner::WhatIfResult& result, const planner::WhatIfQuestion& question,
                        const models::Job& job, const std::string& reliability);

std::string uptime_json(const std::vector<planner::CheckedUptime>& rows, const std::string& reliability,
                        const std::string& profile);

}  // namespace trnplan::io
