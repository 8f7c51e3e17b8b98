#!/bin/sh
# demo.sh: finds the length of the sunspot cycle with `accel run`, on whatever accelerator there is.
#
#   demo.sh [ACCEL]    ACCEL: the accel command; default: $ACCEL, else "accel"
#
# Device options for accel (-d cpu:0) may be given in DEMO_OPTIONS. Fails where the strongest period
# is not between 10 and 12 years.
set -eu

here=$(cd "$(dirname "$0")" > /dev/null && pwd)
accel=${1:-${ACCEL:-accel}}
trials=4096
sum=f67889b1d9002cd5227f0e0ef54e35b419cdd85a31279adef6f73fb41e5c0a9b

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

found=$(sha256sum < "$here/sunspots.csv")
if [ "${found%% *}" != "$sum" ]; then
    echo "demo: sunspots.csv is not the file that PROVENANCE.md describes" >&2
    exit 1
fi

# Text to .npy, by the helper that the build made or by one compiled here.
helper=${TEXT_TO_NPY:-$work/text_to_npy}
[ -x "$helper" ] || ${CC:-cc} -O1 -o "$helper" "$here/text_to_npy.c"
"$helper" < "$here/sunspots.csv" > "$work/numbers.npy"
count=$(($(grep -c '^[0-9]' "$here/sunspots.csv")))

echo "How long is the sunspot cycle? $count yearly numbers, $trials trial periods of 2 to 100 years."
echo
# shellcheck disable=SC2086
"$accel" run "$here/periodogram.cl" ${DEMO_OPTIONS:-} -g $trials -l 64 --time \
    "in:$work/numbers.npy" "u32:$count" f32:100 f32:2 "u32:$trials" \
    "out:$work/periods.npy:f32[$trials]" "out:$work/powers.npy:f32[$trials]"
echo
# shellcheck disable=SC2086
"$accel" run "$here/strongest.cl" ${DEMO_OPTIONS:-} -g 256 -l 256 --time \
    "in:$work/periods.npy" "in:$work/powers.npy" "u32:$trials" local:1024 \
    "out:$work/answer.npy:f32[2]"
echo

# The two numbers are the last 8 bytes of the file.
period=$(tail -c 8 "$work/answer.npy" | od -An -t f4 | awk '{ printf "%.2f", $1 }')
echo "Strongest period: $period years"
if ! awk -v period="$period" 'BEGIN { exit !(period > 10 && period < 12) }'; then
    echo "demo: expected about eleven years" >&2
    exit 1
fi
