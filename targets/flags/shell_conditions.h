// Whether a condition of a script of bash holds, as far as its text tells.
#pragma once

#include <string_view>
#include <vector>

#include "targets/flags/shell_values.h"

namespace trnplan::targets {

enum class ShellTruth { no, yes, unknown };

[[nodiscard]] ShellTruth shell_not(ShellTruth of);

/// Of the words between [ and ], expanded.
[[nodiscard]] ShellTruth shell_test(const std::vector<ShellWord>& words);

/// Of what stands between [[ and ]].
[[nodiscard]] ShellTruth shell_test(std::string_view expression, ShellValues& values, const ShellWord& at);

/// A word matches a pattern with * and ?, as far as both are known and short. Cost: their product.
[[nodiscard]] ShellTruth shell_matches(const ShellWord& word, std::string_view pattern);

}  // namespace trnplan::targets
