// A strategy in words, for the terminal, the files of a folder and advice.
#pragma once

#include <string>

#include "models/job/strategy.h"

namespace trnplan::models {

/// The degrees above 1, and virtual stages: "TP 8 x PP 4, 2 virtual stages each".
[[nodiscard]] std::string degree_words(const Strategy& s);
/// degree_words, then a micro-batch above 1: "TP 8 x PP 4, micro-batch 2".
[[nodiscard]] std::string layout_words(const Strategy& s);
/// layout_words, then the other properties that set the strategy apart, with recomputation and cuts. Throws
/// as framework_of() does.
[[nodiscard]] std::string strategy_words(const Strategy& s);

}  // namespace trnplan::models
