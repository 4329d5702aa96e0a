// Fixes for unknown names of frameworks.
#pragma once

#include <string>

namespace trnplan::io {

/// Fix for a training loop (pin.framework, --strategy framework=): the nearest one; for a stack, the loop
/// that it runs; else all that exist. Names the other key and its words too.
[[nodiscard]] std::string loop_fix(const std::string& name);
/// Fix for a stack (software.framework): the nearest one; for a loop, the stack that trains with it; else all
/// that exist.
[[nodiscard]] std::string stack_fix(const std::string& name);

}  // namespace trnplan::io
