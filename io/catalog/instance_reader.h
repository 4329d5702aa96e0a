// Instance types from the catalogue's files (instances/NAME.json). CONTRIBUTING.md, "An instance type".
#pragma once

#include "text/document.h"
#include "topology/instance.h"

namespace trnplan::io {

/// Reads an instance type from a parsed file. Throws InputError with all faults. Cost: O(size of the file).
topology::Instance instance_from(const Node& node);

}  // namespace trnplan::io
