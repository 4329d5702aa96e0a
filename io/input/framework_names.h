// Fixes for unknown names of frameworks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "text/diagnostic.h"
#include "topology/instance.h"

namespace trnplan::io {

/// Fix for a training loop (pin.framework, --strategy framework=): the nearest one; for a stack, the loop
/// that it runs; else all that exist. Names the other key and its words too.
[[nodiscard]] std::string loop_fix(const std::string& name);
/// Fault if the loop trains on no such machine, with those that do; else none.
[[nodiscard]] std::optional<Diagnostic> loop_fault(std::string_view loop, const topology::Instance& machine,
                                                   SourcePos at, std::string key);
/// Fix for a stack (software.framework): the nearest one; for a loop, the stack that trains with it; else all
/// that exist.
[[nodiscard]] std::string stack_fix(const std::string& name);

}  // namespace trnplan::io
