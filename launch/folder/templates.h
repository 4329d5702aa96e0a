// The shell scripts of launch/folder/templates/, which the build puts into the program.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace trnplan::launch {

/// By the name of the script, "node_run.sh" of templates/node_run.sh.in.
const std::map<std::string_view, std::string_view>& script_templates();

/// The script with a value for each of its placeholders @word@ (small letters and _). A line that is one
/// placeholder alone vanishes where the value is empty. Values are not looked at again. Throws
/// std::logic_error for a script or a placeholder that is not known.
std::string filled(std::string_view script, const std::map<std::string_view, std::string>& values);

}  // namespace trnplan::launch
