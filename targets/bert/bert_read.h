// Reader of scripts that start AWS's pre-training of BERT.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// bert-large-uncased, which the program takes from the Hugging Face hub, as far as its shape distinguishes
/// it from other models.
[[nodiscard]] const models::Architecture& bert_large();

inline constexpr const char* kBertScript = "dp_bert_large_hf_pretrain_hdf5.py";

/// Run that such a script describes on `ranks` ranks. Throws InputError.
[[nodiscard]] planner::RunReading bert_reading(const planner::ConfigFile& file, int ranks);

}  // namespace trnplan::targets
