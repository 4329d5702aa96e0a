// The schemas that a profile can fill. Each combines the parameters of a device, a collective runtime and a
// framework; adding one is a line in schemas.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "models/parameters/parameter.h"

namespace trnplan::models {

/// The schema of a profile that names none.
inline constexpr std::string_view kDefaultSchema = "neuron";

/// The schema of that name, or null. The object lives as long as the program.
[[nodiscard]] const ParameterSchema* schema_named(std::string_view name);

/// All names in a fixed order, the default first.
[[nodiscard]] std::vector<std::string_view> schema_names();

}  // namespace trnplan::models
