#!/bin/sh
# The suite's own behaviour: options, JSON, exceptions, exit status.   suite.sh ACCEL-CONFORMANCE
set -eu

suite=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "suite.sh: $*" >&2
    exit 1
}

# status WANTED COMMAND…: runs it; output in $work/out and $work/err.
status() {
    wanted=$1
    shift
    got=0
    "$@" > "$work/out" 2> "$work/err" || got=$?
    [ "$got" = "$wanted" ] || { cat "$work/out" "$work/err" >&2; fail "$* gave $got, not $wanted"; }
}

status 0 "$suite" --list
grep -q '^fill/patterns$' "$work/out" || fail "--list lacks fill/patterns"
[ "$(sort "$work/out" | uniq -d)" = "" ] || fail "two tests have one name"

status 0 "$suite" --list --filter 'copy/*'
! grep -qv '^copy/' "$work/out" || fail "--filter lets others through"

status 0 "$suite" -d cpu:0 --filter 'fill/*'
grep -q '^4 passed, 0 failed, 0 skipped$' "$work/out" || fail "no closing line"
grep -q '^pass  cpu:0 *fill/patterns$' "$work/out" || fail "no line for a test"

status 0 env ACCEL_CPU_DEVICES=2 "$suite" -d cpu --filter 'fill/*'
grep -q '^8 passed, 0 failed, 0 skipped$' "$work/out" || fail "-d cpu is not every device"

# An exception that passes is stale.
echo 'cpu fill/patterns it was broken once' > "$work/exceptions"
status 1 "$suite" -d cpu:0 --filter 'fill/*' --exceptions "$work/exceptions"
grep -q '^fail  cpu:0 *fill/patterns (.*stale: it was broken once)$' "$work/out" || fail "not stale"
printf '# a comment\n\nopencl fill/patterns of another backend\n' > "$work/exceptions"
status 0 "$suite" -d cpu:0 --filter 'fill/*' --exceptions "$work/exceptions"

# Skips give their reason.
status 0 env ACCEL_CPU_DEVICES=1 "$suite" -d cpu:0 --filter 'copy/between-devices'
grep -q '^skip  cpu:0 *copy/between-devices (.*one device)$' "$work/out" || fail "no reason"

status 0 "$suite" --json --filter 'fill/*' -d cpu:0
if command -v python3 > /dev/null; then
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert d["passed"] == 4 and d["failed"] == 0 and d["skipped"] == 0
assert all(r["device"] == "cpu:0" and r["result"] == "pass" for r in d["results"])' "$work/out" ||
        fail "the JSON is wrong"
fi

# Wrong usage.
echo 'cpu fill/patterns' > "$work/exceptions" # no reason
for wrong in '--nosuch' '-d cpu:99' '-d nosuch' '-d CPU:0' 'argument' \
    "--exceptions $work/exceptions" "--exceptions $work/missing"; do
    # shellcheck disable=SC2086
    status 2 "$suite" $wrong
    [ -s "$work/err" ] || fail "$wrong is refused in silence"
    [ ! -s "$work/out" ] || fail "$wrong prints on standard output"
done
