// What targets share whose scripts take flags instead of a config.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/job/job.h"
#include "models/job/strategy.h"
#include "planner/plan/plan.h"

namespace trnplan::targets {

/// Steps of the whole training: its tokens over those of a step; 10,000 as NxDT's shipped configs where none
/// are stated.
std::int64_t steps_of(const models::Training& t);

/// What NxDT's orchestrator exports for the YAML that this project emits, for scripts without a YAML:
/// aws-neuron/neuronx-distributed-training@9169aa0 examples/training_orchestrator.py.
std::vector<std::string> runtime_environment(const models::Strategy& s);

/// The violation of a target: `fix` says what to write in the job.
planner::Violation target_lacks(std::string message, std::string fix);

/// Precisions other than `wanted` are refused, since the plan's memory would not be that of the run.
void need_precision(const models::Strategy& s, models::Precision wanted,
                    std::vector<planner::Violation>& broken);

/// What no script of flags can say: partial recompute, context parallel, virtual pipeline, uneven cuts, and
/// models other than dense Llama.
void need_flags(const models::Job& job, const models::Strategy& s, std::vector<planner::Violation>& broken);

}  // namespace trnplan::targets
