# The accel command. Its libraries are its own: libaccel.so needs libc alone.

file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/cli/*.c)
if(NOT cli_sources)
  return()
endif()

find_package(PkgConfig REQUIRED)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson>=2.13)
pkg_check_modules(smartcols REQUIRED IMPORTED_TARGET smartcols>=2.36)

add_executable(accel_cli ${cli_sources})
set_target_properties(accel_cli PROPERTIES
  OUTPUT_NAME accel RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
target_include_directories(accel_cli PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
target_link_libraries(accel_cli PRIVATE accel PkgConfig::jansson PkgConfig::smartcols)
