# common_doctor.sh: what the tests of `accel doctor` share; includes common.sh. A machine of its own:
# without devices, drivers and settings, but for what the test puts into $work/vendors and $work/root.
#
# What doctor prints is compared with tests/cli/doctor/NAME.txt, after what differs from machine to machine
# was taken out; GOLDEN_WRITE=1 writes those files instead.
. "$SOURCE_DIR/tests/cli/common.sh" || exit 1

golden=$SOURCE_DIR/tests/cli/doctor

for name in $(env | sed -n 's/^\(ACCEL_[A-Z_]*\)=.*/\1/p'); do unset "$name"; done
unset OCL_ICD_FILENAMES OPENCL_VENDOR_PATH POCL_DEVICES CC
chmod 755 "$work"
mkdir -p vendors root cache
chmod 700 cache
export ACCEL_CACHE_DIR="$work/cache" ACCEL_DOCTOR_ROOT="$work/root" OCL_ICD_VENDORS="$work/vendors"
export ACCEL_PROBE_TIMEOUT_MS=20000 # a loaded machine is no hung driver

normal() {
    sed -e 's/in [0-9]* ms/in N ms/g' -e 's/after [0-9]* ms/after N ms/g' \
        -e 's/^  \(cpu:[0-9]*\|opencl:[0-9]*\): [^P].*/  \1: NAME/' -e "s,$work,WORK,g" \
        -e 's/libpocl\.so\.[0-9.]*/libpocl.so.N/g' "$work/.out"
}

# expect_golden STATUS NAME COMMAND…
expect_golden() {
    status=$1
    file=$golden/$2.txt
    shift 2
    expect "$status" "$@"
    [ ! -s .err ] || fail "doctor says something on standard error"
    if [ -n "${GOLDEN_WRITE:-}" ]; then
        normal > "$file"
        return
    fi
    normal > .normal
    if ! diff -u "$file" .normal > .diff; then
        fail "not as in $file"
        sed 's/^/  /' .diff >&2
    fi
}

doctor() {
    expect_golden "$1" "$2" "$ACCEL" doctor --timeout 60000
}
