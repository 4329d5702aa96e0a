// Names under which training loops print the seconds of a step.
#pragma once

#include <string_view>

namespace trnplan::logs {

/// The name that NxDT prints, and two of NeMo's.
inline constexpr std::string_view kStepTimes[] = {"iteration_time", "train_step_timing",
                                                  "train_step_timing in s"};

}  // namespace trnplan::logs
