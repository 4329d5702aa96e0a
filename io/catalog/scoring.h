// What the words of tables of layouts mean, from JSON: catalog/scoring.json.
#pragma once

#include "calibrate/data/layout_jobs.h"
#include "text/document.h"

namespace trnplan::io {

/// Throws InputError with every fault: unknown columns, a rule that says nothing or two things at once.
[[nodiscard]] calibrate::LayoutRules scoring_from(const Node& node);

}  // namespace trnplan::io
