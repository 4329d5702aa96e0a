# What nearly every file includes, compiled once. Headers of the system only: ccache then holds the same bytes for every
# checkout. Heavier ones (CLI11, nlohmann/json, Catch2's own aside) gain nothing: what they cost is what they instantiate.
set(TRNPLAN_COMMON_HEADERS
    <algorithm> <array> <cmath> <cstdint> <filesystem> <functional> <map> <memory> <optional> <set> <stdexcept> <string>
    <string_view> <utility> <vector> <fmt/format.h> <fmt/ranges.h>)

# compile_in_units(target n a.cpp ...): n units of about the same number of files; "" is one.
function(compile_in_units target units)
  if(NOT TRNPLAN_UNITY)
    return()
  endif()
  if(NOT units)
    set(units 1)
  endif()
  list(LENGTH ARGN files)
  math(EXPR batch "(${files} + ${units} - 1) / ${units}")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # GCC takes the files of a unit for headers
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()

# add_room(name SOURCES a.cpp ... [DEPENDS room ...] [PRIVATE package::target ...] [UNITS n] [FAST])
# One static library per room, a folder of a floor (or a floor without rooms), alias trnplan::name. Public dependencies
# are rooms below; packages stay private, so that a consumer of the installed library needs none of their headers. With
# TRNPLAN_UNITY the sources compile as n units (1 where nothing is said), in the order of the list. A release optimises what
# takes the time of a plan or a fit, rooms that say FAST; the others compile in less time with -O1.
function(add_room name)
  cmake_parse_arguments(ROOM "FAST" "UNITS" "SOURCES;DEPENDS;PRIVATE" ${ARGN})
  set(target trnplan_${name})
  add_library(${target} STATIC ${ROOM_SOURCES})
  add_library(trnplan::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} OUTPUT_NAME trnplan_${name}
                                             POSITION_INDEPENDENT_CODE ON)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/trnplan>)
  compile_in_units(${target} "${ROOM_UNITS}" ${ROOM_SOURCES})
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic -Wconversion -Wno-sign-conversion -Wshadow
                                               -Wno-missing-field-initializers)
  if(NOT ROOM_FAST)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # GCC 12 warns of std::string temporaries in optimised builds without cause
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized -Wno-restrict)
  endif()
  foreach(dependency IN LISTS ROOM_DEPENDS)
    target_link_libraries(${target} PUBLIC trnplan::${dependency})
  endforeach()
  if(ROOM_PRIVATE)
    target_link_libraries(${target} PRIVATE ${ROOM_PRIVATE})
  endif()
  # One room compiles the headers and those above share them: one whose packages define no macro but fmt's, else the
  # compiler refuses them where the macro is missing. The rooms below are a few files.
  if("fmt::fmt" IN_LIST ROOM_PRIVATE)
    get_property(base GLOBAL PROPERTY TRNPLAN_HEADERS_OF)
    if(base)
      target_precompile_headers(${target} REUSE_FROM ${base})
    elseif(ROOM_PRIVATE STREQUAL "fmt::fmt")
      target_precompile_headers(${target} PRIVATE ${TRNPLAN_COMMON_HEADERS})
      set_property(GLOBAL PROPERTY TRNPLAN_HEADERS_OF ${target})
    endif()
  endif()
  set_property(GLOBAL APPEND PROPERTY TRNPLAN_FLOORS ${target})
  set_property(GLOBAL APPEND PROPERTY TRNPLAN_ROOMS ${target})
endfunction()

# add_floor(name room ...): trnplan::name, all rooms of a floor.
function(add_floor name)
  add_library(trnplan_${name} INTERFACE)
  add_library(trnplan::${name} ALIAS trnplan_${name})
  set_target_properties(trnplan_${name} PROPERTIES EXPORT_NAME ${name})
  foreach(room IN LISTS ARGN)
    target_link_libraries(trnplan_${name} INTERFACE trnplan::${room})
  endforeach()
  set_property(GLOBAL APPEND PROPERTY TRNPLAN_FLOORS trnplan_${name})
endfunction()
