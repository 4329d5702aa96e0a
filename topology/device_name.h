// Names that devices report, against the machines that have them.
#pragma once

#include <string_view>

#include "topology/instance.h"

namespace trnplan::topology {

/// False if a device of that name, as its driver reports it, is none of the machine's.
bool has_device(const Instance& instance, std::string_view reported);

}  // namespace trnplan::topology
