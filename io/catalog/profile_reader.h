// Profiles: files of the catalogue (profiles/NAME.json) and those that calibrate writes. docs/models.md lists
// the parameters.
#pragma once

#include <string>
#include <vector>

#include "models/parameters/profile.h"
#include "text/document.h"

namespace trnplan::io {

class Catalog;

/// Reads a profile. One that names a `base` takes values that it does not state from that profile of
/// `catalog`. Faults about the base have its position in the file. Throws InputError with all faults.
models::Profile profile_from(const Node& node, const Catalog* catalog = nullptr);

/// Reads the law of a network's states, a value of a profile's `factors`; `where` prefixes keys in faults.
models::NetworkState network_state_from(const Node& node, const std::string& where,
                                        std::vector<Diagnostic>& faults);

}  // namespace trnplan::io
