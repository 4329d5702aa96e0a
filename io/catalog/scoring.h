// Meaning of the words in tables of layouts, from JSON: catalog/scoring.json.
#pragma once

#include "calibrate/data/layout_jobs.h"
#include "text/document.h"

namespace trnplan::io {

/// Reads the rules. Throws InputError with every fault: unknown columns, a rule that states nothing or two
/// things at once.
[[nodiscard]] calibrate::LayoutRules scoring_from(const Node& node);

}  // namespace trnplan::io
