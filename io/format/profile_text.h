// How files of profiles are laid out.
#pragma once

#include <string>

namespace trnplan::io {

/// JSON laid out as profile files are: indented, matrices with a line for each row.
std::string profile_text(const std::string& json);

}  // namespace trnplan::io
