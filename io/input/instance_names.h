// What to write where a type of machine is not known.
#pragma once

#include <string>
#include <vector>

namespace trnplan::io {

/// The types that begin so ("p5": p5.48xlarge, p5e.48xlarge, ...), or the near one, or all there are.
[[nodiscard]] std::string instance_fix(const std::string& name, const std::vector<std::string>& known);

}  // namespace trnplan::io
