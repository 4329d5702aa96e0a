// The page of plan: what to train with, how sure that is, what would not run, and what to type next.
#pragma once

#include "api/plan.h"
#include "api/report_parts.h"

namespace trnplan::api {

/// Throws InputError where it cannot be written. Cost: a simulation of the recommended plan, with its timeline.
void write_plan_report(const ReportFile& file, const PlanRequest& request, const PlanResult& result,
                       const std::vector<Remark>& remarks);

/// The data of that page.
[[nodiscard]] io::JsonValue plan_report(const PlanRequest& request, const PlanResult& result,
                                        const std::vector<Remark>& remarks);

}  // namespace trnplan::api
