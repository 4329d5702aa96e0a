// Text of `explain`, and the page of docs/ that is generated from the same rows.
#pragma once

#include <string>
#include <vector>

#include "api/explain.h"

namespace trnplan::cli {

/// Every row in full, as whole lines.
std::string explain_text(const std::vector<api::RuleSet>& sets);
/// One line per row, under the title of its set.
std::string explain_list(const std::vector<api::RuleSet>& sets);
/// docs/rules.md.
std::string rules_page(const std::vector<api::RuleSet>& sets);

}  // namespace trnplan::cli
