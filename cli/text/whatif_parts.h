// Parts that the short and the full answer of whatif share. Whole lines, unless stated.
#pragma once

#include <string>

#include "cli/text/run_text.h"
#include "cli/text/whatif_text.h"
#include "planner/cost/run_forecast.h"

namespace trnplan::cli {

/// Unit of the times of a table of clusters: that of the longest run.
[[nodiscard]] const TimeUnit& run_unit(const WhatIfAnswer& a);
[[nodiscard]] planner::RunQuestion run_question(const planner::WhatIfQuestion& question);
/// "32 x p5.48xlarge", not a line.
[[nodiscard]] std::string cluster_words(const planner::WhatIfPoint& point);
/// The job and what is asked.
[[nodiscard]] std::string question_text(const WhatIfAnswer& a);
/// Reason why no cluster is recommended, and what would do.
[[nodiscard]] std::string none_text(const WhatIfAnswer& a);
[[nodiscard]] std::string next_text(const WhatIfAnswer& a);

/// The answer of 24 lines: the cluster to take, two sentences why, a line per type.
[[nodiscard]] std::string short_whatif_text(const WhatIfAnswer& a, int width);

}  // namespace trnplan::cli
