// The keys of a TOML of TorchTitan.
#pragma once

#include <vector>

#include "targets/start/settings.h"
#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::targets {

/// Every key that v0.2.2 knows, "section.name".
[[nodiscard]] const std::vector<StartKey>& titan_keys();

/// What a file sets, by such names.
[[nodiscard]] StatedByName titan_stated(const Node& root);

/// A fault for each section and key that v0.2.2 does not know, which it refuses, and for each section that is a value. Of a module of a person's own
/// (job.custom_config_module) nobody knows what it adds, so then no key is unknown.
void check_titan_keys(const Node& root, std::vector<Diagnostic>& faults);

}  // namespace trnplan::targets
