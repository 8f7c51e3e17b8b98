#!/bin/bash
# no_compiler.sh: a driver without a compiler takes objects, and says what is missing where it is given a
# source.   no_compiler.sh DOUBLE, the library of double/
library=$1
. "$SOURCE_DIR/tests/cli/common.sh"
export OCL_ICD_VENDORS="$library" ACCEL_CACHE=0

printf '__kernel void one(__global int *x) { x[0] = 1; }\n' > one.cl
expect 0 "$ACCEL" build one.cl -d opencl:0 -o one.o
export OPENCL_DOUBLE=no-compiler
expect 0 "$ACCEL" run one.o -d opencl:0 -g 1 'out:o.npy:i32[1]'
refused 1 "has no compiler" "$ACCEL" run one.cl -d opencl:0 -g 1 'out:o.npy:i32[1]'
finish
