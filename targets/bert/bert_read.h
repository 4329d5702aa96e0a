// A script that starts BERT's program, read.
#pragma once

#include "planner/plan/target.h"

namespace trnplan::targets {

/// bert-large-uncased, which the program takes from the Hugging Face hub, as far as its shape tells it from others.
[[nodiscard]] const models::Architecture& bert_large();

inline constexpr const char* kBertScript = "dp_bert_large_hf_pretrain_hdf5.py";

/// What a script that starts that program describes on so many ranks. Throws InputError.
[[nodiscard]] planner::RunReading bert_reading(const planner::ConfigFile& file, int ranks);

}  // namespace trnplan::targets
