# Writes templates into a source file: cmake -DOUT=FILE.cpp -DTEMPLATES=a.in,b.in -P embed.cmake
string(REPLACE "," ";" templates "${TEMPLATES}")
set(rows "")
foreach(template IN LISTS templates)
  get_filename_component(name "${template}" NAME)
  string(REGEX REPLACE "\\.in$" "" name "${name}")
  file(READ "${template}" text)
  string(APPEND rows "    {\"${name}\", R\"template(${text})template\"},\n")
endforeach()
file(WRITE "${OUT}" "// Made by launch/folder/embed.cmake.
#include \"launch/folder/templates.h\"

namespace trnplan::launch {

const std::map<std::string_view, std::string_view>& script_templates() {
  static const std::map<std::string_view, std::string_view> templates = {
${rows}  };
  return templates;
}

}  // namespace trnplan::launch
")
