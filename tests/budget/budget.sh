#!/bin/sh
# Holds a call to its instruction budget, counted by callgrind: free of the noise of a busy machine.
#
#   budget.sh PROGRAM NAME BUDGET
#
# PROGRAM NAME prints how many operations it made in its function counted_NAME. Exit status: 0 within
# the budget, 1 over it, 2 where it could not be counted, 77 without valgrind.
set -u

program=$1
name=$2
budget=$3

command -v valgrind > /dev/null 2>&1 || { echo "skipped: no valgrind"; exit 77; }

log=$(mktemp)
trap 'rm -f "$log"' EXIT
operations=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" \
    --collect-atstart=no --toggle-collect="counted_$name" "$program" "$name") ||
    { cat "$log"; echo "$name: the program failed"; exit 2; }
counted=$(sed -n 's/^.*Collected : \([0-9]*\)$/\1/p' "$log")

# Nothing counted means that callgrind did not find the function, not that it costs nothing.
if [ -z "$operations" ] || [ -z "$counted" ] || [ "$counted" -lt "$operations" ]; then
    cat "$log"
    echo "$name: counted ${counted:-nothing} for ${operations:-no} operations"
    exit 2
fi
each=$(((counted + operations - 1) / operations))
if [ "$each" -gt "$budget" ]; then
    echo "$name: $each instructions, over the budget of $budget"
    exit 1
fi
echo "$name: $each instructions, budget $budget"
