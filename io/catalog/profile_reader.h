// Profiles: files of the catalogue (profiles/NAME.json) and those that calibrate writes. docs/models.md lists
// the parameters.
#pragma once

#include "models/parameters/profile.h"
#include "text/document.h"

namespace trnplan::io {

class Catalog;

/// Reads a profile. One that names a `base` takes values that it does not state from that profile of
/// `catalog`. Faults about the base have its position in the file. Throws InputError with all faults.
models::Profile profile_from(const Node& node, const Catalog* catalog = nullptr);

}  // namespace trnplan::io
