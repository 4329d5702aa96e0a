// Keys of a TOML file of TorchTitan.
#pragma once

#include <vector>

#include "targets/start/settings.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::targets {

/// All keys that v0.2.2 knows, as "section.name".
[[nodiscard]] const std::vector<StartKey>& titan_keys();

/// Settings of a file, by such names.
[[nodiscard]] StatedByName titan_stated(const Node& root);

/// Adds a fault for each section and key that v0.2.2 does not know, since it refuses them, and for each section
/// that is a value. A custom module (job.custom_config_module) may add any key, so then no key is unknown.
///
/// Returns the known keys that misspelt ones may mean.
std::vector<std::string> check_titan_keys(const Node& root, std::vector<Diagnostic>& faults);

}  // namespace trnplan::targets
