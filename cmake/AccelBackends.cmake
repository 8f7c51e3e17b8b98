# The list of backends is made from the folders: each src/backends/<name>/ that has a backend.c is one,
# and exports `const accel_backend_table *accel__backend_<name>(void)`. Nothing else names it.
# Sets accel_backend_sources and accel_generated_dir; writes accel_backend_list.h there, with one line
# ACCEL_BACKEND_ENTRY(<name>) per backend.

file(GLOB backend_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/backends/*/backend.c)
list(SORT backend_files)

set(accel_backend_names "")
set(accel_backend_sources "")
foreach(file IN LISTS backend_files)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  list(APPEND accel_backend_names ${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c ${folder}/*/*.c)
  list(APPEND accel_backend_sources ${sources})
endforeach()

# What cuda and hip share is no backend by itself.
if("cuda" IN_LIST accel_backend_names OR "hip" IN_LIST accel_backend_names)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/backends/gpu_twin/*.c)
  list(APPEND accel_backend_sources ${sources})
endif()

set(accel_generated_dir ${CMAKE_BINARY_DIR}/generated)
set(accel_backend_list "/* Made by cmake/AccelBackends.cmake from the folders of src/backends. */\n")
foreach(name IN LISTS accel_backend_names)
  string(APPEND accel_backend_list "ACCEL_BACKEND_ENTRY(${name})\n")
endforeach()
file(CONFIGURE OUTPUT ${accel_generated_dir}/accel_backend_list.h CONTENT "${accel_backend_list}"
     @ONLY)
