// Bounds of the columns of tables of runs.
#pragma once

#include <string_view>

#include "text/csv.h"

namespace trnplan::logs {

/// A whole number of the current row within the bounds of its column. `fallback` if the field is empty, or,
/// with a fault, if it is no such number. Requires: a column that has bounds.
[[nodiscard]] int count_of(CsvReader& csv, std::string_view column, int fallback);

}  // namespace trnplan::logs
