// Fixes for unknown types of machines.
#pragma once

#include <string>
#include <vector>

namespace trnplan::io {

/// The types that begin with `name` ("p5": p5.48xlarge, p5e.48xlarge, ...), or the nearest one, or all that
/// exist.
[[nodiscard]] std::string instance_fix(const std::string& name, const std::vector<std::string>& known);

}  // namespace trnplan::io
