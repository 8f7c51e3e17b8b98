#!/bin/sh
# The conformance suite on oclgrind, a simulator that finds accesses out of bounds, races and wrong calls:
# it must find nothing, and must find one overrun that was planted for it.
#
#   driver.sh oclgrind oclgrind.sh ACCEL-CONFORMANCE EXCEPTIONS
#
# It is not made for several threads in one queue (its queue is a plain list): those tests are left out.
# So are the known answers of random numbers and those near carries, which it would interpret for minutes,
# and bounded integers, where its clang makes an intrinsic of an inlined function that it does not know
# (llvm.experimental.noalias.scope.decl).
set -eu

suite=$1
exceptions=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "oclgrind.sh: $*" >&2
    [ ! -s "$work/log" ] || cat "$work/log" >&2
    exit 1
}

export ACCEL_CACHE=0
export OCLGRIND_LOG="$work/log"
export OCLGRIND_CHECK_API=1 OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=1

topics=$("$suite" --list | sed 's,/.*,,' | sort -u | grep -v -e '^thread$' -e '^random$' | sed 's,$,/*,')
random=$("$suite" --list | grep '^random/' | grep -v -e known-answers -e near-a-carry -e from-the-middle)
for tests in $topics $random; do
    "$suite" -d opencl --filter "$tests" --exceptions "$exceptions" || fail "$tests failed"
done
[ ! -s "$work/log" ] || fail "oclgrind found something"

# As its command starts programs: preloaded, an implementation by itself, to which no loader leads.
if command -v oclgrind > /dev/null 2>&1; then
    env -u OCL_ICD_VENDORS oclgrind "$suite" -d opencl --filter 'fill/*' > "$work/out" 2>&1 ||
        fail "it does not work preloaded: $(cat "$work/out")"
    grep -q '^pass  opencl:0' "$work/out" || fail "preloaded, it was not found"
fi

# Writes one element behind its array, which must be all of its buffer for that: a block of 512 bytes, and no caching.
cat > "$work/overrun.cl" << 'END'
__kernel void overrun(__global uint *data)
{
    data[get_global_id(0) + 1] = 7;
}
END
rm -f "$work/log"
ACCEL_ALLOC_CONF=caching:False "$ACCEL" run "$work/overrun.cl" -d opencl:0 -g 128 -l 16 "out:$work/out.npy:u32[128]" || true
grep -q "Invalid write of size 4" "$work/log" || fail "oclgrind did not find the planted overrun"
