// Offers to buy for a run, as JSON (docs/json.md).
#pragma once

#include <string>

#include "models/job/job.h"
#include "planner/cost/offerings.h"

namespace trnplan::io {

/// Returns a document that ends in a newline.
std::string offerings_json(const planner::OfferingsResult& result, const planner::OfferingsQuestion& question,
                           const models::Job& job, const std::string& reliability);

}  // namespace trnplan::io
