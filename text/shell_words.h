// Words of a command line.
#pragma once

#include <string>
#include <vector>

namespace trnplan {

/// The arguments as a person could type them, each quoted where a shell needs it.
[[nodiscard]] std::string command_line(const std::vector<std::string>& arguments);

}  // namespace trnplan
