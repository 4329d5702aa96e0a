// Predictions compared with measured rows of a table of layouts, as text.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/row_scores.h"

namespace trnplan::cli {

/// The answer first: errors over all sources; then one line per source, refusals with their reasons, choices,
/// memory. With `each` also every row.
[[nodiscard]] std::string row_scores_text(const calibrate::RowScores& scores,
                                          const std::vector<std::string>& profiles, bool each, int width);

}  // namespace trnplan::cli
