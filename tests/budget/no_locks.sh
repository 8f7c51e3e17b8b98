#!/bin/sh
# The short ways of allocation and release hold no locked instruction: what threads share they leave to others.
#
#   no_locks.sh LIBRARY
#
# Exit status: 0 none, 1 there is one, 2 where that could not be seen, 77 on other processors and without objdump.
set -u

library=$1
[ "$(uname -m)" = x86_64 ] || { echo "skipped: not x86-64"; exit 77; }
command -v objdump > /dev/null 2>&1 || { echo "skipped: no objdump"; exit 77; }

# locked FUNCTION: its instructions that lock the bus; an xchg with memory does so by itself.
locked() {
    objdump -d --no-show-raw-insn "$library" |
        awk -v wanted="<$1>:" '$2 == wanted { inside = 1; seen = 1; next }
                               /^$/ { inside = 0 }
                               inside && (/[ \t]lock / || /xchg.*\(/) { print }
                               END { if (!seen) print "not seen" }'
}

# What is looked for must be seen where it is known to be: of two that free at once, one is told so.
case $(locked claim_and_keep) in
*lock*cmpxchg*) ;;
*) echo "claim_and_keep: no locked instruction was seen"; exit 2 ;;
esac
for function in accel_memory_alloc accel_memory_free; do
    found=$(locked $function)
    [ "$found" != "not seen" ] || { echo "$function: not seen"; exit 2; }
    [ -z "$found" ] || { echo "$function:"; echo "$found"; exit 1; }
done
echo "no locked instruction"
