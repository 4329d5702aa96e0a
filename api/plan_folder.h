// The folder that plan writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/plan.h"

namespace trnplan::api {

/// Throws InputError where the target's files cannot be written to the request's folder, as far as that is known before
/// the work.
void check_out(const PlanRequest& request, const planner::Target* target);

/// Writes what launch needs for the recommended plan, and what tells it from its rival where that is not known. The path
/// of measure.sh, empty when there is none. Throws InputError. Requires: `result` has plans.
[[nodiscard]] std::string write_plan_folder(const models::Job& job, const planner::Target* target,
                                            const planner::SearchResult& result,
                                            const planner::Confidence& confidence, const PlanRequest& request,
                                            Remarks& remarks);

}  // namespace trnplan::api
