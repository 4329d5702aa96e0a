// Reader of scripts that start neuronx-nemo-megatron's pretraining.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

inline constexpr const char* kNemoScript = "megatron_gpt_pretraining.py";

/// Run that such a script describes on `ranks` ranks. The script overrides values of its base config, which
/// apply where it states none. The vocabulary is 0: only the tokenizer knows it. Throws InputError.
[[nodiscard]] planner::RunReading nemo_reading(const planner::ConfigFile& file, int ranks);

}  // namespace trnplan::targets
