// What to write where a framework's name is not known.
#pragma once

#include <string>

namespace trnplan::io {

/// For a training loop (pin.framework, --strategy framework=): the near one; of a stack the loop that it runs; else all there
/// are. Each names the other key, too, and its words.
[[nodiscard]] std::string loop_fix(const std::string& name);
/// For a stack (software.framework): the near one; of a loop the stack that trains with it; else all there are.
[[nodiscard]] std::string stack_fix(const std::string& name);

}  // namespace trnplan::io
