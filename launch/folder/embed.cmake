# Writes files into a source file, as a map from their names (without .in) to their texts, that FUNCTION of HEADER returns, in NAMESPACE (launch):
#   cmake -DOUT=FILE.cpp -DTEMPLATES=a.in,b.in -DHEADER=launch/folder/templates.h -DFUNCTION=script_templates -P embed.cmake
if(NOT NAMESPACE)
  set(NAMESPACE launch)
endif()
string(REPLACE "," ";" templates "${TEMPLATES}")
set(rows "")
foreach(template IN LISTS templates)
  get_filename_component(name "${template}" NAME)
  string(REGEX REPLACE "\\.in$" "" name "${name}")
  file(READ "${template}" text)
  string(APPEND rows "    {\"${name}\", R\"template(${text})template\"},\n")
endforeach()
file(WRITE "${OUT}" "// Made by launch/folder/embed.cmake.
#include \"${HEADER}\"

namespace trnplan::${NAMESPACE} {

const std::map<std::string_view, std::string_view>& ${FUNCTION}() {
  static const std::map<std::string_view, std::string_view> templates = {
${rows}  };
  return templates;
}

}  // namespace trnplan::${NAMESPACE}
")
