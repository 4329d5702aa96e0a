// Shell scripts of launch/folder/templates/, embedded in the program by the build.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace trnplan::launch {

/// Scripts by name: "node_run.sh" for templates/node_run.sh.in.
const std::map<std::string_view, std::string_view>& script_templates();

/// Script with a value for each of its placeholders @word@ (small letters and _). A line that consists of one
/// placeholder vanishes if its value is empty. Values are not scanned for placeholders. Throws
/// std::logic_error for an unknown script or placeholder.
std::string filled(std::string_view script, const std::map<std::string_view, std::string>& values);

}  // namespace trnplan::launch
