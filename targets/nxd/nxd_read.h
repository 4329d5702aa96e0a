// Scripts that start the two programs of NxD that train Llama, read.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

inline constexpr const char* kTensorScript = "tp_zero1_llama_hf_pretrain.py";
inline constexpr const char* kPipelineScript = "run_llama_nxd.py";

/// What a script that starts tp_zero1_llama_hf_pretrain.py or run_llama_nxd.py describes on so many ranks: the strategy by its
/// flags, with the program's own value where one is not given, and the model by the config.json that --model_path or
/// --training_config names, which is `model`. Throws InputError: no such program, nullptr, degrees that do not go together.
[[nodiscard]] planner::RunReading nxd_reading(const planner::ConfigFile& file, int ranks,
                                              const models::Architecture* model);

}  // namespace trnplan::targets
