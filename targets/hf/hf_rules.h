// Rules of NxD's models of HF architectures, which NxDT and NxD's own example scripts train.
#pragma once

#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"

namespace trnplan::targets {

/// Rules that a strategy breaks: vocabulary, tied-embeddings, context-parallel. Sources:
/// api/rules/1_strategy.yaml. Cost: negligible if none is broken.
std::vector<planner::Violation> hf_rules(const models::Job& job, const models::Strategy& strategy);

}  // namespace trnplan::targets
