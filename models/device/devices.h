// All devices. An instance states which one it has: topology::Core::device.
#pragma once

#include <string_view>
#include <vector>

#include "models/device/device.h"

namespace trnplan::models {

/// The device of that name, or null. The object lives as long as the program.
[[nodiscard]] const Device* device_named(std::string_view name);

/// The device of a core. Throws: std::invalid_argument when the core names an unknown one.
[[nodiscard]] const Device& device_of(const topology::Core& core);

}  // namespace trnplan::models
