// The files of launch/report/page/, which the build puts into the program.
#pragma once

#include <map>
#include <string_view>

namespace trnplan::launch {

/// By the name of the file, "page.html".
const std::map<std::string_view, std::string_view>& report_parts();

}  // namespace trnplan::launch
