#!/bin/sh
# The check of budgets must itself be able to fail: over a budget that nothing can meet, and where
# there is nothing to count; and it must not count what is not the call's.
#
#   budget_finds.sh PROGRAM
set -u

check=$(dirname "$0")/budget.sh

# expect STATUS PATTERN NAME BUDGET
expect() {
    said=$("$check" "$program" "$3" "$4")
    status=$?
    [ "$status" != 77 ] || { echo "$said"; exit 77; }
    case $said in *$2*) matches=yes ;; *) matches=no ;; esac
    if [ "$status" != "$1" ] || [ "$matches" = no ]; then
        echo "$3 with budget $4: status $status, \"$said\"; expected $1 and \"$2\""
        exit 1
    fi
}

program=$1
expect 1 "over the budget of 1" launch 1
expect 1 "over the budget of 1" event 1
expect 0 "nothing:" nothing 10
expect 2 "the program failed" unheard_of 1000000
