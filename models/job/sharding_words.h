// The sharding of a strategy in words.
#pragma once

#include <string>

#include "models/job/strategy.h"

namespace trnplan::models {

/// Text such as ", no ZeRO-1" or ", ZeRO-3 over 8 ranks"; "" for ZeRO-1 over all ranks.
[[nodiscard]] std::string sharding_words(const Strategy& s);

}  // namespace trnplan::models
