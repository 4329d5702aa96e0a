// Steps of a run whose batch grows, as --rampup-batch-size of Megatron-LM makes it: each as a step of the whole batch.
#pragma once

#include <optional>
#include <string>

#include "io/input/plan_file.h"
#include "launch/watch/watched_log.h"

namespace trnplan::launch {

/// A run that counts at least this part of the steps of its plan, and would see at most this part of its tokens with
/// the batch of its last steps, is taken as one whose batch still grows to the plan's. Our own value.
inline constexpr double kRampSteps = 0.95;

/// Makes the times of steps with another batch than the whole one those of whole steps, in proportion to their
/// sequences, and the samples of a batch that still grows likewise. The whole batch is the plan's if the last steps
/// have it, or if the log shows that they grow to it: by the arguments that it lists, or by kRampSteps. Else it is
/// that of the last steps. `reading.whole_batch` says so; it stays empty where all steps have one batch, the whole
/// one. Cost: linear in the steps.
void take_whole_batch(LogReading& reading, const std::optional<io::PlanFile>& plan);

}  // namespace trnplan::launch
