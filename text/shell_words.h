// The words of a command line.
#pragma once

#include <string>
#include <vector>

namespace trnplan {

/// The arguments as a command line that a person could type, quoted where a shell needs it.
[[nodiscard]] std::string command_line(const std::vector<std::string>& arguments);

}  // namespace trnplan
