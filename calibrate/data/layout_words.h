// Meaning of the words in tables of layouts, by the rules of catalog/scoring.json.
#pragma once

#include <string>
#include <string_view>

#include "calibrate/data/layout_jobs.h"

namespace trnplan::calibrate {

/// Meaning of the text of a column.
struct Meaning {
  const LayoutRule* rule = nullptr;  ///< of the whole text; null: of its words, or none
  std::string keys;                  ///< of the strategy grammar
  std::string refused;               ///< why such rows are not predicted; "" = they are
};

/// The first rule of the column that takes the whole text; nullptr if none does. Cost: linear in the rules.
[[nodiscard]] const LayoutRule* rule_of(const LayoutRules& rules, std::string_view column,
                                        std::string_view text, const logs::LayoutRun& run);
/// Meaning by a rule of the whole text or, without one, by those of all of its words; refused where there is
/// none.
[[nodiscard]] Meaning meaning_of(const LayoutRules& rules, std::string_view column, std::string_view text,
                                 const logs::LayoutRun& run);
/// Appends `more`, "key=value,key=value", and removes the same keys from `keys`, in which each begins with a
/// comma.
void put_keys(std::string& keys, std::string_view more);

}  // namespace trnplan::calibrate
