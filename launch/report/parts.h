// Files of launch/report/page/, embedded in the program by the build.
#pragma once

#include <map>
#include <string_view>

namespace trnplan::launch {

/// Files by name, "page.html".
const std::map<std::string_view, std::string_view>& report_parts();

}  // namespace trnplan::launch
