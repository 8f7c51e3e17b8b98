# What `cmake --install` lays down, and how other builds find it.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/accel)

install(DIRECTORY include/accel DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(TARGETS accel accel_static EXPORT accel-targets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
foreach(program accel_cli accel_probe)
  if(TARGET ${program})
    if(program STREQUAL "accel_probe")
      install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/accel)
    else()
      install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
  endif()
endforeach()

install(EXPORT accel-targets NAMESPACE accel:: DESTINATION ${package_dir})
configure_package_config_file(cmake/accel-config.cmake.in accel-config.cmake
                              INSTALL_DESTINATION ${package_dir})
# Until 1.0 a minor version may break what the last one promised.
write_basic_package_version_file(accel-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/accel-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/accel-config-version.cmake
        DESTINATION ${package_dir})

# The prefix is worked out from the place of the file, so that a moved installation still works.
file(RELATIVE_PATH accel_pc_to_prefix "/${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig"
     "/${CMAKE_INSTALL_PREFIX}")
configure_file(cmake/accel.pc.in accel.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/accel.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The headers, the messages and README.md name pages of docs/ and the examples by these paths.
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB document_pages CONFIGURE_DEPENDS docs/*.md)
install(FILES ${document_pages} DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN CMakeLists.txt EXCLUDE)
