// Page of whatif: clusters, their durations and costs.
#pragma once

#include "api/report_parts.h"
#include "api/whatif.h"

namespace trnplan::api {

/// Throws InputError if it cannot be written. Cost: linear in the points.
void write_whatif_report(const ReportFile& file, const WhatIfRequest& request,
                         const std::vector<std::string>& job_options, const WhatIfAnswered& answered,
                         const std::vector<Remark>& remarks);

/// Words of a `plan` command that finds the point's plan again, with the same step, from `job` with its
/// options. They write nothing: --out predicts a plan as its target runs it, while a job without stated
/// software may be predicted differently.
[[nodiscard]] std::vector<std::string> words_for_plan(const WhatIfRequest& request, const std::string& job,
                                                      const std::vector<std::string>& job_options,
                                                      const WhatIfAnswered& answered,
                                                      const planner::WhatIfPoint& point);

/// Data of that page.
[[nodiscard]] io::JsonValue whatif_report(const WhatIfRequest& request,
                                          const std::vector<std::string>& job_options,
                                          const WhatIfAnswered& answered, const std::vector<Remark>& remarks);

}  // namespace trnplan::api
