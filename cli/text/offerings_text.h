// Offers to buy for a run, for people.
#pragma once

#include <string>

#include "models/job/job.h"
#include "planner/cost/offerings.h"

namespace trnplan::cli {

/// Whole lines; the tables fit `width` if possible. `next`: command that shows the plan of the first block;
/// "" without one.
std::string offerings_text(const planner::OfferingsResult& result, const planner::OfferingsQuestion& question,
                           const models::Job& job, const std::string& next, int width);

}  // namespace trnplan::cli
