// Predictions beside measured rows of a table of layouts, as text.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/row_scores.h"

namespace trnplan::cli {

/// The answer first: errors over all sources; then a line a source, what was refused and why, choices, memory. With
/// `each` every row too.
[[nodiscard]] std::string row_scores_text(const calibrate::RowScores& scores,
                                          const std::vector<std::string>& profiles, bool each, int width);

}  // namespace trnplan::cli
