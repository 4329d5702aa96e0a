// Arithmetic of a bash script.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "targets/flags/shell_values.h"

namespace trnplan::targets {

/// Value of an expression of whole numbers and variables with + - * / %, comparisons, ! && || and parentheses;
/// nullopt for anything else, for an overflow, and if a variable is unknown. Cost: linear.
[[nodiscard]] std::optional<std::int64_t> shell_sum(std::string_view expression, ShellValues& values);

}  // namespace trnplan::targets
