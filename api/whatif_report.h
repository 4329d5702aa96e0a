// The page of whatif: which cluster, how long and how much.
#pragma once

#include "api/report_parts.h"
#include "api/whatif.h"

namespace trnplan::api {

/// Throws InputError where it cannot be written. Cost: linear in the points.
void write_whatif_report(const ReportFile& file, const WhatIfRequest& request,
                         const std::vector<std::string>& job_options, const WhatIfAnswered& answered,
                         const std::vector<Remark>& remarks);

/// The words of a `plan` that finds the point's plan again, with the same step: of `job` with its options. They write
/// nothing: what --out writes is predicted as its target runs it, which a job that states no software is not.
[[nodiscard]] std::vector<std::string> words_for_plan(const WhatIfRequest& request, const std::string& job,
                                                      const std::vector<std::string>& job_options,
                                                      const WhatIfAnswered& answered,
                                                      const planner::WhatIfPoint& point);

/// The data of that page.
[[nodiscard]] io::JsonValue whatif_report(const WhatIfRequest& request,
                                          const std::vector<std::string>& job_options,
                                          const WhatIfAnswered& answered, const std::vector<Remark>& remarks);

}  // namespace trnplan::api
