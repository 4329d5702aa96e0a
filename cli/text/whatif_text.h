// Clusters compared, for people: the answer first, then the table.
#pragma once

#include <string>
#include <vector>

#include "models/job/job.h"
#include "planner/cost/reliability.h"
#include "planner/cost/whatif.h"

namespace trnplan::cli {

struct WhatIfAnswer {
  const planner::WhatIfResult& result;
  const planner::WhatIfQuestion& question;
  const models::Job& job;
  const planner::Reliability& reliability;
  std::vector<std::string>
      next;  ///< the `plan` of the cluster that is recommended or would do; empty without one
};

/// Whole lines; the table fits `width` where it can.
std::string whatif_text(const WhatIfAnswer& a, int width);

}  // namespace trnplan::cli
