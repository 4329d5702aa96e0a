# What nearly every file includes, compiled once. Headers of the system only: ccache then holds the same bytes for every
# checkout. Heavier ones (CLI11, nlohmann/json, Catch2's own aside) gain nothing: what they cost is what they instantiate.
set(TRNPLAN_COMMON_HEADERS
    <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <stdexcept> <string>
    <string_view> <utility> <vector> <fmt/format.h> <fmt/ranges.h>)

# add_floor(name SOURCES a.cpp ... [DEPENDS floor ...] [PRIVATE package::target ...])
# One static library per folder, alias trnplan::name. Public dependencies are floors below; packages stay private, so
# that a consumer of the installed library needs none of their headers.
function(add_floor name)
  cmake_parse_arguments(FLOOR "" "" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  set(target trnplan_${name})
  add_library(${target} STATIC ${FLOOR_SOURCES})
  add_library(trnplan::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} OUTPUT_NAME trnplan_${name}
                                             POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trnplan>)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow
                                               -Wno-missing-field-initializers)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # GCC 12 warns of std::string temporaries in optimised builds without cause
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-restrict)
  endif()
  foreach(dependency IN LISTS FLOOR_DEPENDS)
    target_link_libraries(${target} PUBLIC trnplan::${dependency})
  endforeach()
  if(FLOOR_PRIVATE)
    target_link_libraries(${target} PRIVATE ${FLOOR_PRIVATE})
  endif()
  # One floor compiles the headers and those above share them: one whose packages define no macro but fmt's, else the
  # compiler refuses them where the macro is missing. The floors below are a few files.
  if(name STREQUAL models)
    target_precompile_headers(${target} PRIVATE ${TRNPLAN_COMMON_HEADERS})
  elseif("fmt::fmt" IN_LIST FLOOR_PRIVATE AND TARGET trnplan_models)
    target_precompile_headers(${target} REUSE_FROM trnplan_models)
  endif()
  set_property(GLOBAL APPEND PROPERTY TRNPLAN_FLOORS ${target})
endfunction()
