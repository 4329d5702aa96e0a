// What a strategy shards, in words.
#pragma once

#include <string>

#include "models/job/strategy.h"

namespace trnplan::models {

/// ", no ZeRO-1", ", ZeRO-3 over 8 ranks"; "" of ZeRO-1 over all.
[[nodiscard]] std::string sharding_words(const Strategy& s);

}  // namespace trnplan::models
