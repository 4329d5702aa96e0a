// The texts of NxDT's configs under the names that commands use.
#pragma once

#include "targets/nxdt/nxdt_yaml.h"

namespace trnplan::io {

using targets::devices_lines;
using targets::looks_like_nxdt;
using targets::nxdt_from;
using targets::nxdt_yaml;
using targets::read_nxdt;

}  // namespace trnplan::io
