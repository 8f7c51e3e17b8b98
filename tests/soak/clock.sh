#!/usr/bin/env bash
# clock.sh: a clock that jumps. The calendar's goes back and forth by years at each reading; the other one, by
# which time limits are kept, stands still, or is an hour ahead from one reading to the next.
#
#   clock.sh few | all | SECONDS     some kinds of jumps; all; all again until the time is over
#
# Needs ACCEL (the command), DISK_WRITER, SABOTEUR (disk_writer.c, saboteur.c) and BUILD_DIR. What must hold:
# nothing hangs, time limits hold, nothing that was kept is taken for something else, and no duration is
# negative. Exit status 77 where the library cannot be preloaded.
set -u
export LC_ALL=C ACCEL_BACKENDS=cpu
unset ACCEL_CACHE LD_PRELOAD OCL_ICD_VENDORS
extent=${1:-few}
work=$(mktemp -d -p /dev/shm 2> /dev/null || mktemp -d)
trap 'rm -rf "$work"' EXIT
export ACCEL_CACHE_DIR=$work/cache
failures=0
runs=0
[ "$(LD_PRELOAD=$SABOTEUR "$ACCEL" --version 2>&1)" = "$("$ACCEL" --version)" ] || exit 77

fail() {
    failures=$((failures + 1))
    echo "FAILED: $clock: $*" >&2
    sed 's/^/  said: /' "$work/out" | head -5 >&2
}

# within SECONDS COMMAND…: runs it by the sabotaged clock; a true one has the limit. Output in $work/out.
within() {
    limit=$1
    shift
    runs=$((runs + 1))
    timeout -s KILL "$limit" env LD_PRELOAD="$SABOTEUR" SABOTAGE_CLOCK="$clock" "$@" > "$work/out" 2>&1
    status=$?
    [ "$status" != 137 ] || fail "no end after $limit s: $*"
    return "$status"
}

# works COMMAND…
works() {
    within 60 "$@" || fail "exit status $status: $*"
}

says() {
    grep -q -e "$1" "$work/out" || fail "nothing says \"$1\""
}

printf '#!/bin/sh\n[ "$1" = --version ] && exec gcc --version\nexec sleep 100\n' > "$work/slow"
printf '#!/bin/sh\nkill -STOP $$\n' > "$work/stopped"
chmod 755 "$work/slow" "$work/stopped"
mkdir "$work/vendors"
ln -s "$BUILD_DIR/tests/drivers/libhostile.so" "$work/entry-hang.so"
echo "$work/entry-hang.so" > "$work/vendors/one.icd"
printf '__kernel void twice(__global float *x) { x[get_global_id(0)] *= 2; }\n' > "$work/twice.cl"
"$ACCEL" random 'uniform:f32[1000]' -o "$work/data.npy" > "$work/out" 2>&1 || exit 77

# The cache: its names and ages are made of the calendar's time.
use_cache() {
    rm -rf "$ACCEL_CACHE_DIR"
    for number in 3 4 3 4; do
        works "$DISK_WRITER" kernel "$number"
        [ "$(cat "$work/out")" = "$number" ] || fail "kernel $number is another one"
    done
    [ "$(find "$ACCEL_CACHE_DIR" -name '*.bin' | wc -l)" = 2 ] || fail "not two entries in the cache"
    [ "$(find "$ACCEL_CACHE_DIR" -name 'new-*' | wc -l)" = 0 ] || fail "half an entry in the cache"
    for age in '2 hours ago' '3 years ago' '3 years'; do # what killed writers left, by another clock
        touch -d "$age" "$ACCEL_CACHE_DIR/new-left"
        rm "$ACCEL_CACHE_DIR"/*.bin
        works "$DISK_WRITER" kernel 3
        [ ! -e "$ACCEL_CACHE_DIR/new-left" ] || fail "half an entry of $age stays in the cache"
    done
}

keep_limits() {
    rm -rf "$ACCEL_CACHE_DIR"
    within 20 env ACCEL_CC="$work/slow" ACCEL_CC_TIMEOUT_MS=500 "$DISK_WRITER" kernel 5 &&
        fail "a compiler that hangs makes a kernel"
    says "stopped after 500 ms"
    export ACCEL_BACKENDS=opencl,cpu OCL_ICD_VENDORS=$work/vendors ACCEL_PROBE_TIMEOUT_MS=500
    within 20 "$ACCEL" list
    within 60 "$ACCEL" doctor
    says "stopped after 500 ms\|did not answer"
    within 60 env ACCEL_PROBE="$work/stopped" "$ACCEL" doctor
    says "did not answer"
    within 20 "$DISK_WRITER" dump /dev/null || fail "the cpu is not used beside a driver that hangs"
    unset ACCEL_PROBE_TIMEOUT_MS OCL_ICD_VENDORS
    export ACCEL_BACKENDS=cpu
}

tell_times() {
    works "$ACCEL" run "$work/twice.cl" -g 1000 --time --json "inout:$work/data.npy:$work/twice.npy"
    grep -q -e '-[0-9]' "$work/out" && fail "a negative time"
    works "$DISK_WRITER" snapshot "$work/snapshot.json"
    "$ACCEL" memory report "$work/snapshot.json" > "$work/out" 2>&1 || fail "a snapshot that cannot be read"
    works "$ACCEL" memory replay "$work/snapshot.json"
    works "$DISK_WRITER" times 200
}

clock=wild
within 5 date +%Y
[ "$(cat "$work/out")" != "$(date +%Y)" ] || exit 77 # date reads the clock by another way
clocks="wild still leap:3"
[ "$extent" = few ] || clocks="wild still leap:1 leap:2 leap:3 leap:5 leap:8 leap:13 leap:40 leap:100 leap:1000"
once() {
    for clock in $clocks; do
        use_cache
        keep_limits
        tell_times
    done
}

case $extent in
    few | all) once ;;
    *)
        end=$((SECONDS + extent))
        while [ "$SECONDS" -lt "$end" ] && [ "$failures" = 0 ]; do once; done ;;
esac
echo "$runs runs, $failures failures"
[ "$failures" = 0 ]
