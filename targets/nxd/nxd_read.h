// Reader of scripts that start the two programs of NxD that train Llama.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

inline constexpr const char* kTensorScript = "tp_zero1_llama_hf_pretrain.py";
inline constexpr const char* kPipelineScript = "run_llama_nxd.py";

/// Run that a script that starts tp_zero1_llama_hf_pretrain.py or run_llama_nxd.py describes on `ranks`
/// ranks. The strategy comes from the flags, or from the program's defaults. `model` comes from the
/// config.json that --model_path or --training_config names. Throws InputError: no such program, `model` is
/// nullptr, degrees that do not fit together.
[[nodiscard]] planner::RunReading nxd_reading(const planner::ConfigFile& file, int ranks,
                                              const models::Architecture* model);

}  // namespace trnplan::targets
