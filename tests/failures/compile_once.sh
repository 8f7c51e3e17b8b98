#!/bin/sh
# A compiler that compiles each text once: what it made before it copies. For tests that compile the same
# kernels a thousand times; FAILURES_OBJECTS is where it keeps objects.
set -eu
compiler=${FAILURES_COMPILER:-cc}
output=
source=
previous=
for word in "$@"; do
    [ "$previous" != -o ] || output=$word
    case $word in
        *.c) source=$word ;;
    esac
    previous=$word
done
if [ -z "$source" ] || [ -z "$output" ]; then
    kept=$FAILURES_OBJECTS/version
    [ -e "$kept" ] || { "$compiler" "$@" > "$kept.$$" 2>&1; mv "$kept.$$" "$kept"; }
    exec cat "$kept"
fi
sum=$(cksum < "$source")
kept=$FAILURES_OBJECTS/$(echo "$sum" | tr ' ' -)
if [ ! -e "$kept" ]; then
    "$compiler" "$@" || exit $?
    cp "$output" "$kept.$$"
    mv "$kept.$$" "$kept"
    exit 0
fi
exec cp "$kept" "$output"
