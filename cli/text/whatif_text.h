// Comparison of clusters, for people: the answer and a line per type at its best number of nodes, 24 lines of
// 80 columns; with details every cluster, prices, failures and checkpoints.
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
  /// `plan` command for the cluster that is recommended or would do; empty without one.
  std::vector<std::string> next;
  bool details = false;
};

/// Whole lines; the table fits `width` if possible.
std::string whatif_text(const WhatIfAnswer& a, int width);

}  // namespace trnplan::cli
