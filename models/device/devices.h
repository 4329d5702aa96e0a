// The devices there are. Which one a machine has is data: topology::Core::device.
#pragma once

#include <string_view>
#include <vector>

#include "models/device/device.h"

namespace trnplan::models {

/// Null where there is none of that name. What it points to lives as long as the program.
[[nodiscard]] const Device* device_named(std::string_view name);
[[nodiscard]] std::vector<std::string_view> device_names();

/// The device of a core. Throws: std::invalid_argument when it names none that there is.
[[nodiscard]] const Device& device_of(const topology::Core& core);

}  // namespace trnplan::models
