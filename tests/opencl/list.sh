#!/bin/sh
# What `accel list` and `accel run` make of the drivers that are there: one clear list.
#
#   driver.sh CONFIGURATION list.sh WORD…     each word is in the name or driver of one opencl device; no
#                                             word: there is none
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "list.sh: $*" >&2
    cat "$work/out" "$work/err" >&2
    exit 1
}

"$ACCEL" list > "$work/out" 2> "$work/err" || fail "accel list failed"
[ ! -s "$work/err" ] || fail "accel list wrote to standard error"
[ "$(grep -c '^opencl:' "$work/out")" = $# ] || fail "there should be $# opencl devices"
grep -q '^cpu:0 ' "$work/out" || fail "the cpu is missing"
for word in "$@"; do
    [ "$(grep '^opencl:' "$work/out" | grep -c "$word")" = 1 ] || fail "no device is of $word"
done
[ $# != 0 ] || exit 0

# The same kernel on each.
cat > "$work/count.cl" << 'END'
__kernel void count(__global uint *data)
{
    data[get_global_id(0)] = (uint)get_global_id(0) * 3u;
}
END
"$ACCEL" run "$work/count.cl" -d cpu:0 -g 1000 "out:$work/cpu.npy:u32[1000]" > "$work/out"
for index in $(seq 0 $(($# - 1))); do
    "$ACCEL" run "$work/count.cl" -d "opencl:$index" -g 1000 "out:$work/$index.npy:u32[1000]" \
        > "$work/out" 2> "$work/err" || fail "accel run failed on opencl:$index"
    cmp -s "$work/cpu.npy" "$work/$index.npy" || fail "opencl:$index gives another result"
done
