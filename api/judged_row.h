// A scored row from the judgement of its strategy. Private to score.
#pragma once

#include <string>

#include "calibrate/data/layout_jobs.h"
#include "calibrate/validate/row_scores.h"
#include "models/parameters/profile.h"
#include "planner/check/judge.h"
#include "text/diagnostic.h"

namespace trnplan::api {

/// First fault of a refused input, as the reason for which a row is skipped.
[[nodiscard]] std::string problem_of(const InputError& e);

/// Takes memory and whether it fits; nothing if the judgement has no memory, or the row does not state what it keeps.
void take_memory(const planner::Judgement& judgement, calibrate::ScoredRow& row,
                 const models::Profile& profile, calibrate::RowMemory memory);
/// Takes memory and step, or the reason for which there is no step.
void take(const planner::Judgement& judgement, calibrate::ScoredRow& row, const models::Profile& profile,
          calibrate::RowMemory memory);

/// Inputs of a prediction that rows of one table may differ in, so that repeats are simulated once.
[[nodiscard]] std::string key_of(const models::Job& job, const std::string& strategy);

}  // namespace trnplan::api
