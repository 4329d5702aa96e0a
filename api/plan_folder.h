// Folder that plan writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/plan.h"

namespace trnplan::api {

/// Throws InputError if the target's files cannot be written to the request's folder, as far as that is known
/// before the search.
void check_out(const PlanRequest& request, const planner::Target* target);

/// Reason why no folder can be written for a plan: what the target cannot express, or a machine whose hosts nobody
/// knows how to start. Absent if one can.
[[nodiscard]] std::optional<std::string> why_no_folder(const planner::Target& target,
                                                       const models::Job& planned,
                                                       const models::Strategy& strategy);

/// Writes the files that launch needs for the recommended plan and, if the choice is uncertain, measurements
/// that distinguish it from the second; else on GPUs that of the plan's machine. `profile`: of the predictions. Returns
/// the path of measure.sh, empty if there is none. Throws InputError. Requires: `result` has plans.
[[nodiscard]] std::string write_plan_folder(const models::Job& job, const planner::Target* target,
                                            const planner::SearchResult& result,
                                            const models::Profile& profile,
                                            const planner::Confidence& confidence, const PlanRequest& request,
                                            Remarks& remarks);

}  // namespace trnplan::api
