// The version of the program.
#pragma once

namespace trnplan {

/// "0.1.0", as CMakeLists.txt states it.
[[nodiscard]] const char* program_version();

}  // namespace trnplan
