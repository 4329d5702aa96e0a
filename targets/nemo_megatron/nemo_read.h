// A script that starts neuronx-nemo-megatron's pretraining, read.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

inline constexpr const char* kNemoScript = "megatron_gpt_pretraining.py";

/// What a script that starts that program describes on so many ranks: overrides of its base config, whose own values stand
/// where nothing is said. The vocabulary is 0: only the tokenizer knows it. Throws InputError.
[[nodiscard]] planner::RunReading nemo_reading(const planner::ConfigFile& file, int ranks);

}  // namespace trnplan::targets
