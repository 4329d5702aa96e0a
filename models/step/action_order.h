// The actions of all stages of a step in one order: that in which make_program() writes them down. Internal
// to the step model.
#pragma once

#include <functional>

#include "models/framework/schedule.h"
#include "models/step/step_parts.h"

namespace trnplan::models {

/// Calls `visit` for each action of a step of so many micro-batches: passes and, where they are meetings of
/// both stages, messages, under the stage below; last the end of the step, micro-batch -1. Cost and memory:
/// O(micro-batches x stages x chunks).
void each_action(const StepParts& parts, int micro_batches,
                 const std::function<void(int stage, const StageAction& action)>& visit);

}  // namespace trnplan::models
