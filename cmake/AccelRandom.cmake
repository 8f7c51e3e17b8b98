# Random numbers: the flags of the cpu backend's vector paths, and texts that become part of the library:
# <accel/philox.h>, which portable source may include, and the kernels of the stand-in.

set(random_no_contraction -ffp-contract=off) # what is not written as an fma shall not become one
set_source_files_properties(src/backends/cpu/random/random.c PROPERTIES
  COMPILE_OPTIONS "${random_no_contraction}")
set_source_files_properties(src/backends/cpu/random/random_portable.c
  PROPERTIES COMPILE_OPTIONS "-O3;${random_no_contraction}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set_source_files_properties(src/backends/cpu/random/random_avx2.c PROPERTIES
    COMPILE_OPTIONS "-O3;${random_no_contraction};-mavx2;-mfma")
  set_source_files_properties(src/backends/cpu/random/random_avx512.c PROPERTIES
    COMPILE_OPTIONS
    "-O3;${random_no_contraction};-mavx512f;-mavx512dq;-mavx512bw;-mavx512vl;-mfma;-mavx2")
endif()

# accel_embed(SYMBOL FILE): a generated source that defines `const unsigned char SYMBOL[]`, the bytes of FILE and a
# zero, and `const unsigned long SYMBOL_size` without it. A file is followed when it changes.
function(accel_embed symbol file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(text "/* Made by cmake/AccelRandom.cmake from a file of the tree. */\n")
  string(APPEND text "extern const unsigned char ${symbol}[];\nextern const unsigned long ${symbol}_size;\n")
  string(APPEND text "const unsigned char ${symbol}[] = {\n${bytes}0};\n")
  string(APPEND text "const unsigned long ${symbol}_size = ${size};\n")
  file(CONFIGURE OUTPUT ${accel_generated_dir}/${symbol}.c CONTENT "${text}" @ONLY)
endfunction()

accel_embed(accel__philox_text ${CMAKE_CURRENT_SOURCE_DIR}/include/accel/philox.h)
accel_embed(accel__random_fill_text ${CMAKE_CURRENT_SOURCE_DIR}/src/random/fill.cl)
set(accel_embedded_sources ${accel_generated_dir}/accel__philox_text.c
    ${accel_generated_dir}/accel__random_fill_text.c)
