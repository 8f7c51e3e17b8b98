# Compiler and linker flags that hold for everything in the tree, and the directories of its results.

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

set(THREADS_PREFER_PTHREAD_FLAG OFF)
find_package(Threads REQUIRED)

# Programs find the library beside them, in the build tree and where they are installed.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
file(RELATIVE_PATH accel_bin_to_lib "/${CMAKE_INSTALL_FULL_BINDIR}" "/${CMAKE_INSTALL_FULL_LIBDIR}")
set(CMAKE_INSTALL_RPATH "$ORIGIN/${accel_bin_to_lib}")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -fvisibility=hidden
                    -fno-semantic-interposition)
add_compile_definitions(_GNU_SOURCE)
if(ACCEL_WERROR)
  add_compile_options(-Werror)
endif()

if(ACCEL_SANITIZE)
  set(sanitize -fsanitize=${ACCEL_SANITIZE} -fno-omit-frame-pointer)
  if(ACCEL_SANITIZE STREQUAL "undefined")
    list(APPEND sanitize -fno-sanitize-recover=all)
  endif()
  add_compile_options(${sanitize})
  add_link_options(${sanitize})
endif()

if(ACCEL_INVARIANTS)
  add_compile_definitions(ACCEL_INVARIANTS=1)
endif()
if(ACCEL_INVARIANTS OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  add_compile_definitions(ACCEL_CHECK_HANDLES=1)
endif()
