// A strategy in words, as the terminal, the files of a folder and advice say it.
#pragma once

#include <string>

#include "models/job/strategy.h"

namespace trnplan::models {

/// The degrees above 1, and virtual stages: "TP 8 x PP 4, 2 virtual stages each".
[[nodiscard]] std::string degree_words(const Strategy& s);
/// The same with a micro-batch above 1: "TP 8 x PP 4, micro-batch 2".
[[nodiscard]] std::string layout_words(const Strategy& s);
/// layout_words, then what else sets it apart, what is recomputed and cuts among it. Throws as framework_of() does.
[[nodiscard]] std::string strategy_words(const Strategy& s);

}  // namespace trnplan::models
