// Page of plan: the recommended plan, its probabilities, the refused plans and the next commands.
#pragma once

#include "api/plan.h"
#include "api/report_parts.h"

namespace trnplan::api {

/// Throws InputError if it cannot be written. Cost: a simulation of the recommended plan, with its timeline.
void write_plan_report(const ReportFile& file, const PlanRequest& request, const PlanResult& result,
                       const std::vector<Remark>& remarks);

/// Data of that page.
[[nodiscard]] io::JsonValue plan_report(const PlanRequest& request, const PlanResult& result,
                                        const std::vector<Remark>& remarks);

}  // namespace trnplan::api
