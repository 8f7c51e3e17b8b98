#!/bin/sh
# The bench program does what its usage says. What it measures is nobody's business here.
#
#   smoke.sh PROGRAM
set -u

program=$1
file=$(mktemp)
trap 'rm -f "$file"' EXIT

fail() {
    echo "$1"
    exit 1
}

table=$("$program" --filter "events/record + query, untimed" --repeat 1 --json "$file") ||
    fail "the row failed: $table"
case $table in *"events/record + query, untimed"*clock_gettime*) ;; *) fail "no row: $table" ;; esac
for key in name unit ours opponent theirs ratio bar; do
    grep -q "\"$key\": [^n]" "$file" || fail "no \"$key\" in the JSON file: $(cat "$file")"
done

"$program" --list | grep -q '^launch/enqueue$' || fail "--list does not list the rows"
"$program" --filter "no such row" > /dev/null 2>&1
[ $? = 2 ] || fail "a filter that no row has is no wrong usage"
"$program" --repeat 0 > /dev/null 2>&1
[ $? = 2 ] || fail "--repeat 0 is accepted"
"$program" --filter "events/record + query, untimed" --repeat 1 --json /nonexistent/file > /dev/null 2>&1
[ $? = 1 ] || fail "a JSON file that cannot be written is no failure"
