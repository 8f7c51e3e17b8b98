#!/bin/bash
# cases_shown.sh [DOCUMENT [SOURCE_FOLDER]]: what docs/cases.md says is so: every test that it names is in its
# file and is run by CTest, every row of the first tables names one, and every case of ../shared/cases, where
# that is there, has a row.
set -u
source=${2:-$SOURCE_DIR}
document=${1:-$source/docs/cases.md}
shared=${ACCEL_SHARED:-$SOURCE_DIR/../shared}/cases
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

complain() {
    echo "$document: $*" >&2
    bad=1
}

# Whether CTest runs the test that is in file $1.
is_run() {
    local stem
    stem=$(basename "$1")
    case $1 in
    tests/conformance/*.c) grep -q '/accel-conformance"' "$work/commands" ;;
    *.c) grep -qF "/$(basename "$(dirname "$1")")_${stem%.c}\"" "$work/commands" ;;
    *) grep -qF "/$1\"" "$work/commands" ;;
    esac
}

# Whether file $1 has test $2: one of cmocka's, or a function that is defined and used, or a name in quotes in
# C; some words of a script.
has_test() {
    case $1 in
    *.c)
        grep -qE "(cmocka_unit_test[a-z_]*|FRESH)\\($2[,)]" "$source/$1" ||
            [ "$(grep -owF -- "$2" "$source/$1" | wc -l)" -ge 2 ] ||
            { [ "${2#\"}" != "$2" ] && grep -qF -- "$2" "$source/$1"; }
        ;;
    *) grep -qF -- "$2" "$source/$1" ;;
    esac
}

(cd "$BUILD_DIR" && ctest -N -V 2> /dev/null) |
    sed -n 's/^[0-9]*: Test command: //p' | sed 's/\([^ "]*\)/"\1"/g; s/""/"/g' > "$work/commands"
[ -s "$work/commands" ] || complain "CTest tells of no test"

# FILE TEST, one a line, behind the case: `file` (`test`, `test`), …
awk -F '|' '/^\| \[B[0-9]+\]/ && NF > 5 {
    split($2, word, /[][]/)
    if ($5 !~ /`tests\//) print word[2], "-", "-"
    count = split($5, part, "`")
    for (i = 2; i <= count; i += 2) {
        if (part[i] ~ /^tests\//) { file = part[i]; if (part[i + 1] !~ /^ \($/) print word[2], file, "-" }
        else print word[2], file, part[i]
    }
}' "$document" > "$work/named"
[ -s "$work/named" ] || complain "no test is named"
while read -r case file test; do
    if [ "$file" = - ]; then
        complain "$case names no test"
    elif [ ! -e "$source/$file" ]; then
        complain "$case names $file, which is not there"
    elif [ "$test" = - ]; then
        complain "$case names $file, but no test in it"
    elif ! has_test "$file" "$test"; then
        complain "$case names $test, which $file has not"
    elif ! is_run "$file"; then
        complain "$case names $file, which CTest does not run"
    fi
done < "$work/named"

if [ -d "$shared" ]; then
    sed -n 's/^| \[\(B[0-9]*\)\].*/\1/p' "$document" | sort > "$work/rows"
    sed -n 's/^## \(B[0-9]*\) .*/\1/p' "$shared"/*.md | sort > "$work/cases"
    for case in $(comm -13 "$work/rows" "$work/cases"); do
        complain "$case has no row"
    done
    for case in $(uniq -d "$work/rows"); do
        complain "$case has two rows"
    done
else
    echo "no cases beside the tree: whether all have a row is not looked at"
fi
exit $bad
