// Offers of capacity as the AWS command line prints them: `aws ec2 describe-capacity-block-offerings` and
// `aws sagemaker search-training-plan-offerings`.
//
// Fields: boto/botocore@0e6e2404:botocore/data/ec2/2016-11-15/service-2.json (CapacityBlockOffering) and
// :botocore/data/sagemaker/2017-07-24/service-2.json (TrainingPlanOffering, ReservedCapacityOffering).
// Fields that do not matter here, and new ones, are ignored. Both services state UpfrontFee as text.
// Timestamps are ISO 8601 or seconds since 1970.
#pragma once

#include <string>
#include <vector>

#include "planner/cost/offerings.h"
#include "text/document.h"

namespace trnplan::io {

/// The most offers of a file.
inline constexpr std::size_t kMostOffers = 5000;

struct ReadOffers {
  std::vector<planner::Offer> offers;  ///< in the order of the file
  /// Offers that AWS says it does not sell: more than 64 instances a block, or a length beyond 182 days or,
  /// above 14 days, far from whole weeks (EC2 User Guide, "Find and purchase Capacity Blocks": 1-day steps up
  /// to 14 days and 7-day steps up to 182; a block ends at 11:30 UTC, so its length is within a day of that
  /// asked for).
  std::vector<std::string> remarks;
};

/// Reads the document of either service. Throws InputError with every fault: no offers, a field that is
/// missing or wrong, a fee that is not in USD, an end before the start, an id that is there twice.
[[nodiscard]] ReadOffers offers_from(const Node& root);

}  // namespace trnplan::io
