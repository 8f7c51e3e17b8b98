#!/bin/sh
# Runs a command with one OpenCL driver alone, or with several; 77 where one of them is not installed.
#
#   driver.sh CONFIGURATION COMMAND…
#
# Which libraries and .icd files that takes is told by the loaders' variables, so nothing outside the
# test's own environment matters.
set -eu

configuration=$1
shift
vendors=/etc/OpenCL/vendors

skip() {
    echo "skipped: $*"
    exit 77
}

# need DRIVER: its .icd file is there.
need() {
    [ -e "$vendors/$1.icd" ] || skip "the OpenCL driver $1 is not installed"
}

find_oclgrind() {
    for library in /usr/lib/oclgrind/liboclgrind-rt-icd.so \
        /usr/lib/*/oclgrind/liboclgrind-rt-icd.so /usr/local/lib/oclgrind/liboclgrind-rt-icd.so; do
        [ ! -e "$library" ] || { echo "$library"; return; }
    done
}

unset ACCEL_OPENCL_POINTERS POCL_DEVICES OCL_ICD_FILENAMES OPENCL_VENDOR_PATH
export RUSTICL_ENABLE=llvmpipe
case $configuration in
    pocl | pocl-translate | pocl-two)
        need pocl
        export OCL_ICD_VENDORS="$vendors/pocl.icd"
        [ "$configuration" != pocl-translate ] || export ACCEL_OPENCL_POINTERS=translate
        # Its "basic" device locks itself up with user events: two of the other kind.
        [ "$configuration" != pocl-two ] || export POCL_DEVICES="pthread pthread"
        ;;
    rusticl)
        need rusticl
        export OCL_ICD_VENDORS="$vendors/rusticl.icd"
        ;;
    clover)
        need mesa
        export OCL_ICD_VENDORS="$vendors/mesa.icd"
        ;;
    oclgrind)
        library=$(find_oclgrind)
        [ -n "$library" ] || skip "oclgrind is not installed"
        export OCL_ICD_VENDORS="$library"
        ;;
    all) # that are installed, among them Mesa's Clover, which has no device here
        need pocl
        need rusticl
        unset OCL_ICD_VENDORS
        ;;
    none)
        export OCL_ICD_VENDORS=/nonexistent/
        ;;
    *)
        echo "driver.sh: unknown configuration $configuration" >&2
        exit 2
        ;;
esac
export TEST_DRIVER="${configuration%%-*}"
exec "$@"
