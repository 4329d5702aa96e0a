// Scores of predictions against measured rows, as JSON for scripts.
#pragma once

#include <string>
#include <vector>

#include "calibrate/validate/row_scores.h"

namespace trnplan::io {

/// A document (docs/json.md, validate) that ends in a newline.
[[nodiscard]] std::string row_scores_json(const calibrate::RowScores& scores,
                                          const std::vector<std::string>& profiles);

}  // namespace trnplan::io
