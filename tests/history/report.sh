#!/bin/bash
# The command reads what the library wrote, and both forms of one snapshot make the same report.
# report.sh SCENARIO
set -eu
[ -x "$ACCEL" ] || { echo 'skipped: the command was not built'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work"
for form in json pickle; do
    "$ACCEL" memory report --json "$work/snapshot.$form" | sed "s/snapshot\\.$form//" > "$work/$form"
    grep -q 'allocate_many' "$work/$form" || { echo "report: no function in $form"; exit 1; }
done
cmp "$work/json" "$work/pickle"
"$ACCEL" memory report "$work/snapshot.pickle"
