# Headers keep their floor: #include "planner/search/search.h" works for a consumer as it does here.
include(CMakePackageConfigHelpers)

get_property(floors GLOBAL PROPERTY TRNPLAN_FLOORS)
install(TARGETS ${floors} EXPORT trnplanTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS trnplan RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(floor IN ITEMS units text topology sim models logs planner calibrate targets io launch api)
  install(DIRECTORY ${floor}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/trnplan/${floor} FILES_MATCHING PATTERN "*.h"
          PATTERN "fit_problem.h" EXCLUDE PATTERN "json_tree.h" EXCLUDE PATTERN "record.h" EXCLUDE PATTERN "described.h" EXCLUDE PATTERN "comparison_json.h" EXCLUDE PATTERN "draws.h" EXCLUDE)
endforeach()
# The manual page is what the program says of itself.
add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/trnplan.1 COMMAND trnplan help --man >${PROJECT_BINARY_DIR}/trnplan.1 DEPENDS trnplan)
add_custom_target(trnplan_manual ALL DEPENDS ${PROJECT_BINARY_DIR}/trnplan.1)
install(FILES ${PROJECT_BINARY_DIR}/trnplan.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES cli/completion.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME trnplan)
install(FILES cli/completion.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _trnplan)
install(FILES cli/completion.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME trnplan.fish)
install(DIRECTORY catalog/ DESTINATION ${CMAKE_INSTALL_DATADIR}/trnplan/catalog)
install(EXPORT trnplanTargets NAMESPACE trnplan:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/trnplan)
configure_package_config_file(cmake/trnplanConfig.cmake.in ${PROJECT_BINARY_DIR}/trnplanConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/trnplan
                              PATH_VARS CMAKE_INSTALL_DATADIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/trnplanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/trnplanConfig.cmake ${PROJECT_BINARY_DIR}/trnplanConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/trnplan)
