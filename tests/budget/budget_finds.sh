#!/bin/sh
# The check of budgets must itself be able to fail: over a budget that nothing can meet, where there is
# nothing to count, and where the program fails; and it must count instructions, neither more nor less.
#
#   budget_finds.sh PROGRAM
set -u

check=$(dirname "$0")/budget.sh
program=$1

# expect STATUS SAID OPERATION BUDGET FUNCTION…
expect() {
    wanted=$1
    text=$2
    shift 2
    said=$("$check" "$program" "$@")
    status=$?
    [ "$status" != 77 ] || { echo "$said"; exit 77; }
    case $said in *"$text"*) matches=yes ;; *) matches=no ;; esac
    if [ "$status" != "$wanted" ] || [ "$matches" = no ]; then
        echo "budget.sh $*: status $status, \"$said\"; expected $wanted and \"$text\""
        exit 1
    fi
}

expect 0 "known: 10 instructions" known 10 ten_instructions
expect 1 "known: 10 instructions, over the budget of 9" known 9 ten_instructions
expect 1 "over the budget of 1" launch 1 accel_kernel_launch
expect 1 "over the budget of 1" event 1 accel_event_record accel_event_query
expect 2 "counted only 0" launch 1000000 no_such_function
expect 2 "the program failed" unheard_of 1000000 ten_instructions
