#!/bin/sh
# Holds an operation to its instruction budget, counted by callgrind: free of the noise of a busy machine.
#
#   budget.sh PROGRAM OPERATION BUDGET FUNCTION…
#
# Counts what the calling thread executes inside of the FUNCTIONs, in a short and in a long run: the
# difference is the operations alone. Exit status: 0 within the budget, 1 over it, 2 where it could not be
# counted, 77 without valgrind.
set -u

program=$1
operation=$2
budget=$3
shift 3

command -v valgrind > /dev/null 2>&1 || { echo "skipped: no valgrind"; exit 77; }

toggles=
for function in "$@"; do
    toggles="$toggles --toggle-collect=$function"
done
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# count BURSTS: sets operations and counted.
count() {
    operations=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file="$log" \
        --collect-atstart=no $toggles "$program" "$operation" "$1") ||
        { cat "$log"; echo "$operation: the program failed"; exit 2; }
    counted=$(sed -n 's/^.*Collected : \([0-9]*\)$/\1/p' "$log")
}

count 8
short_operations=$operations
short_counted=$counted
count 40
operations=$((operations - short_operations))
counted=$((${counted:-0} - ${short_counted:-0}))

# Nothing counted means that callgrind did not find the function, not that it costs nothing.
if [ "$counted" -lt "$operations" ]; then
    echo "$operation: counted only $counted instructions for $operations operations"
    exit 2
fi
each=$(((counted + operations / 2) / operations))
if [ "$each" -gt "$budget" ]; then
    echo "$operation: $each instructions, over the budget of $budget"
    exit 1
fi
echo "$operation: $each instructions, budget $budget"
