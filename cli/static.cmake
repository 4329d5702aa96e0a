# trnplan_static: the program as ./dev package packs it, which needs no library of the system it runs on. One more link of
# the same archives; the targets of packages would bring their shared libraries, so they are named by their archives.
# It is position-independent because only then GCC links the table by which an exception finds a function's frame; without
# the table the first exception sorts the frames of all functions, 70 million instructions.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()
set(archives)
foreach(package IN ITEMS yaml-cpp sqlite3 crypto z snappy zstd)
  find_library(TRNPLAN_${package}_ARCHIVE lib${package}.a)
  mark_as_advanced(TRNPLAN_${package}_ARCHIVE)
  if(NOT TRNPLAN_${package}_ARCHIVE)
    message(STATUS "Target trnplan_static: Skipped: no lib${package}.a")
    return()
  endif()
  list(APPEND archives ${TRNPLAN_${package}_ARCHIVE})
endforeach()

# Objects go before archives: this build_catalog() knows no folder of this machine.
add_library(trnplan_static_parts OBJECT main.cpp fmt_archive.cpp no_plugins.cpp ${PROJECT_SOURCE_DIR}/io/catalog/build_catalog.cpp)
target_include_directories(trnplan_static_parts PRIVATE ${PROJECT_SOURCE_DIR} $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
set_source_files_properties(fmt_archive.cpp PROPERTIES COMPILE_DEFINITIONS FMT_HEADER_ONLY COMPILE_OPTIONS -fkeep-inline-functions)

get_property(rooms GLOBAL PROPERTY TRNPLAN_ROOMS)
set(archives_of_rooms)
foreach(room IN LISTS rooms)
  list(APPEND archives_of_rooms $<TARGET_FILE:${room}>)
endforeach()
set(program ${CMAKE_CURRENT_BINARY_DIR}/trnplan-static)
add_custom_command(
  OUTPUT ${program}
  COMMAND ${CMAKE_CXX_COMPILER} -static-pie -o ${program} $<TARGET_OBJECTS:trnplan_static_parts> -Wl,--start-group ${archives_of_rooms}
          -Wl,--end-group ${archives}
  DEPENDS trnplan_static_parts $<TARGET_OBJECTS:trnplan_static_parts> ${rooms}
  COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(trnplan_static ALL DEPENDS ${program})

# Licences of what is inside, for cmake/pack.sh.
foreach(licence IN LISTS TRNPLAN_LICENCES)
  string(REGEX MATCH "^([^=]+)=(.*)$" licence ${licence})
  if(NOT CMAKE_MATCH_1 STREQUAL "pybind11")
    configure_file(${CMAKE_MATCH_2} ${CMAKE_CURRENT_BINARY_DIR}/licenses/${CMAKE_MATCH_1}.txt COPYONLY)
  endif()
endforeach()
