// The line that starts pretrain_gpt.py, read: from a script, or from a file of its arguments.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// Words behind pretrain_gpt.py, or all of a file that does not name it: bash arrays, quotes, comments and lines that go on
/// are seen through, variables are not. Throws InputError: a degree that is no number, flags that contradict each other.
[[nodiscard]] planner::RunReading megatron_reading(const planner::ConfigFile& file, int ranks);

}  // namespace trnplan::targets
