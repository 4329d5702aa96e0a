// The schemas that a profile can fill. Each is made of what its device, its collective runtime and its
// framework contribute; adding one is a line in schemas.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "models/parameters/parameter.h"

namespace trnplan::models {

/// What a profile fills that does not say.
inline constexpr std::string_view kDefaultSchema = "neuron";

/// The schema of that name; null where there is none. What it points to lives as long as the program.
[[nodiscard]] const ParameterSchema* schema_named(std::string_view name);

/// In a fixed order, the default first.
[[nodiscard]] std::vector<std::string_view> schema_names();

}  // namespace trnplan::models
