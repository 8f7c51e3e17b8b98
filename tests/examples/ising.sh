# ising.sh PROGRAM: the lattice of the example is right, and the same on cpu, with the stand-ins there, and
# on every OpenCL driver that is installed.
set -u

program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset ACCEL_BACKEND ACCEL_MASK
failures=0

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}

hash_in() {
    sed -n 's/^Hash .*: \([0-9a-f]*\)$/\1/p' "$1"
}

"$program" "$SOURCE_DIR/examples/ising" 64 60 "$work/picture" > "$work/cpu" ||
    { cat "$work/cpu"; fail "the lattice is not the exact solution's"; }
wanted=$(hash_in "$work/cpu")
[ -n "$wanted" ] || fail "no hash"
head -c 15 "$work/picture.pgm" | tr '\n' ' ' | grep -q '^P5 208 64 255 ' || fail "no picture of lattices"
[ "$(grep -c '<circle' "$work/picture.svg")" = 40 ] || fail "no curves"
[ "$("$program" > /dev/null 2>&1; echo $?)" = 2 ] || fail "no usage"

for mask in cpu:random cpu:schedules cpu:all; do
    ACCEL_MASK=$mask "$program" "$SOURCE_DIR/examples/ising" 64 60 > "$work/other"
    [ "$(hash_in "$work/other")" = "$wanted" ] || fail "another lattice with $mask masked"
done

# Drivers that a sanitizer's run-time does not bear are left out.
drivers="pocl pocl-translate rusticl"
grep -q '^ACCEL_SANITIZE:STRING=.' "$BUILD_DIR/CMakeCache.txt" && drivers=
for driver in $drivers; do
    ACCEL_BACKEND=opencl sh "$SOURCE_DIR/tests/opencl/driver.sh" "$driver" \
        "$program" "$SOURCE_DIR/examples/ising" 64 60 > "$work/other" 2>&1
    status=$?
    if [ $status = 77 ]; then
        echo "$driver is not installed"
    elif [ $status != 0 ] || [ "$(hash_in "$work/other")" != "$wanted" ]; then
        cat "$work/other" >&2
        fail "another lattice on $driver"
    fi
done
[ $failures = 0 ]
