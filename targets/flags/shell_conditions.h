// Conditions of a bash script, evaluated as far as the text determines them.
#pragma once

#include <string_view>
#include <vector>

#include "targets/flags/shell_values.h"

namespace trnplan::targets {

enum class ShellTruth { no, yes, unknown };

[[nodiscard]] ShellTruth shell_not(ShellTruth of);

/// Truth of the expanded words between [ and ].
[[nodiscard]] ShellTruth shell_test(const std::vector<ShellWord>& words);

/// Truth of an expression between [[ and ]].
[[nodiscard]] ShellTruth shell_test(std::string_view expression, ShellValues& values, const ShellWord& at);

/// Matches a word against a pattern with * and ?, as far as both are known and short. Cost: the product of
/// their lengths.
[[nodiscard]] ShellTruth shell_matches(const ShellWord& word, std::string_view pattern);

}  // namespace trnplan::targets
