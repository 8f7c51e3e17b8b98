# common.sh: what the tests of the accel command share. Sourced, never run. A test sources it, calls
# check functions, and ends with `finish`.
#
# Everything happens in a directory of its own, $work, removed at the end.

set -u
export LC_ALL=C
unset COLUMNS LD_PRELOAD

work=$(mktemp -d)
export OCL_ICD_VENDORS="$work/no-drivers" # the cpu backend alone, whatever the machine has
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

failures=0
checks=0
strange=${BUILD_DIR:-}/tests/cli/libstrange_devices.so
json_reader=${BUILD_DIR:-}/tests/cli/read_json

fail() {
    failures=$((failures + 1))
    echo "FAILED: $*" >&2
    [ ! -s "$work/.out" ] || sed 's/^/  stdout: /' "$work/.out" | head -20 >&2
    [ ! -s "$work/.err" ] || sed 's/^/  stderr: /' "$work/.err" | head -20 >&2
}

# expect STATUS COMMAND…: runs it, output in $work/.out and .err.
expect() {
    wanted=$1
    shift
    checks=$((checks + 1))
    "$@" > "$work/.out" 2> "$work/.err" < /dev/null
    got=$?
    [ "$got" = "$wanted" ] || fail "exit status $got, not $wanted: $*"
}

# refused STATUS WORD COMMAND…: fails with that status, one line "accel…" on standard error that has
# WORD in it and says what to do behind a semicolon, and nothing on standard output.
refused() {
    status=$1
    word=$2
    shift 2
    expect "$status" "$@"
    [ "$(wc -l < "$work/.err")" = 1 ] || fail "not one line on standard error: $*"
    grep -q '^accel.*: .*; .' "$work/.err" || fail "not \"accel: what; what to do\": $*"
    grep -qF -e "$word" "$work/.err" || fail "the message lacks \"$word\": $*"
    [ ! -s "$work/.out" ] || fail "something on standard output: $*"
}

# has WORD: standard output of the last command has it; says WORD: standard error has it.
has() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$work/.out" || fail "standard output lacks \"$1\""
}
says() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$work/.err" || fail "standard error lacks \"$1\""
}

# same A B WHAT: two texts are equal.
same() {
    checks=$((checks + 1))
    [ "$1" = "$2" ] || fail "$3: \"$1\" is not \"$2\""
}

# json PATH: a value of the one document on standard output, like "devices.0.name"; "null" where it is
# null. Fails where the output is not exactly one strict document.
json() {
    "$json_reader" "$1" < "$work/.out" || fail "not one JSON document with $1"
}

# only NAME…: the directory holds these files and nothing else (what a test of its own began with a
# dot counts too, except .out and .err).
only() {
    checks=$((checks + 1))
    found=$(find . -maxdepth 1 -type f ! -name .out ! -name .err | sed 's,^\./,,' | sort | tr '\n' ' ')
    same "$found" "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" "files left"
}

# ---- numbers as bytes, little-endian, without any tool but printf ----

# integers SIZE VALUE…
integers() {
    size=$1
    shift
    for value; do
        i=0
        while [ "$i" -lt "$size" ]; do
            printf "\\x$(printf %02x $(((value >> (8 * i)) & 255)))"
            i=$((i + 1))
        done
    done
}

# floats VALUE…: float32 of whole numbers below 2^24
floats() {
    for value; do
        sign=0
        exponent=0
        [ "$value" -ge 0 ] || { sign=1 value=$((-value)); }
        if [ "$value" = 0 ]; then
            integers 4 0
            continue
        fi
        while [ $((value >> (exponent + 1))) -gt 0 ]; do exponent=$((exponent + 1)); done
        mantissa=$(((value << (23 - exponent)) & 0x7fffff))
        integers 4 $((sign << 31 | (exponent + 127) << 23 | mantissa))
    done
}

# npy FILE DESCR SHAPE [ORDER] < DATA: a .npy file, version 1.0
npy() {
    dictionary="{'descr': '$2', 'fortran_order': ${4:-False}, 'shape': $3, }"
    dictionary=$(printf '%-117s' "$dictionary")
    {
        printf '\x93NUMPY\x01\x00'
        integers 2 $((${#dictionary} + 1))
        printf '%s\n' "$dictionary"
        cat
    } > "$1"
}

# values FORMAT FILE: the data of a .npy file of version 1.0, as od prints it, with single blanks
values() {
    length=$(od -An -t u1 -j 8 -N 2 "$2" | awk '{ print $1 + 256 * $2 + 10 }')
    tail -c +$((length + 1)) "$2" | od -An -v -t "$1" | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'
}

dictionary() {
    head -c 128 "$1" | tail -c +11 | sed 's/ *$//'
}

# ---- kernels that several tests use ----

cat > "$work/add.cl" << 'END'
__kernel void add(__global const float *a, __global const float *b, __global float *sum)
{
    size_t i = get_global_id(0);
    sum[i] = a[i] + b[i];
}
END

cat > "$work/scale.cl" << 'END'
__kernel void scale(__global int *data, int factor)
{
    data[get_global_id(0)] *= factor;
}
END

finish() {
    [ "$checks" -gt 0 ] || fail "nothing was checked"
    echo "$checks checks, $failures failures"
    [ "$failures" = 0 ]
    exit
}
