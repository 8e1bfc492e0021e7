# The installed half: shared library, headers, command, CMake package, pkg-config.
include(CMakePackageConfigHelpers)

install(TARGETS gemwright EXPORT gemwrightTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET gemwright_command)
  install(TARGETS gemwright_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gemwright
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT gemwrightTargets NAMESPACE gemwright::
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gemwright)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/gemwrightConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/gemwrightConfig.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gemwright)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gemwrightConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/gemwrightConfig.cmake
              ${PROJECT_BINARY_DIR}/gemwrightConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/gemwright)

# Relative, so that the installed tree can be moved.
file(RELATIVE_PATH GEMWRIGHT_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/gemwright.pc.in ${PROJECT_BINARY_DIR}/gemwright.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/gemwright.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
