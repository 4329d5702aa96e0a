// whatif --offerings: the blocks of capacity to buy for a run.
#pragma once

#include "api/whatif.h"
#include "planner/cost/offerings.h"

namespace trnplan::api {

struct OfferingsAnswered {
  planner::OfferingsResult result;
  planner::OfferingsQuestion question;
  models::Job job;
  planner::Reliability reliability;
};

/// Chooses among the offers of `request.offerings`; nodes, types and prices are those of the offers. Throws
/// InputError with every fault. Cost: a search for each type and number of nodes.
[[nodiscard]] OfferingsAnswered whatif_offerings(const WhatIfRequest& request, Remarks& remarks);

}  // namespace trnplan::api
