// The version of the program.
#pragma once

namespace trnplan {

/// The version in CMakeLists.txt, for example "0.1.0".
[[nodiscard]] const char* program_version();

}  // namespace trnplan
