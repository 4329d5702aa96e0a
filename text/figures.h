// Numbers as people read them.
#pragma once

#include <string>

namespace trnplan {

/// Rounded, in groups of three digits: "17,334".
std::string grouped(double value);

}  // namespace trnplan
