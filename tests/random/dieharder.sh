# dieharder.sh STREAM KIND: some of dieharder's tests over one of the streams. WEAK is what one in two
# hundred good generators' results is; a failed one is tried again with another seed, which a true fault
# does not survive.
set -u

stream=$1
kind=$2
command -v dieharder > /dev/null || { echo "skipped: dieharder is not installed"; exit 77; }

# judge SEED TEST: prints the result; false where it FAILED.
judge() {
    "$stream" "$kind" "$1" 2> /dev/null | dieharder -g 200 -d "$2" -D test_name -D ntuple -D pvalues \
        -D assessment > out.$$
    cat out.$$
    ! grep -q FAILED out.$$
}

trap 'rm -f out.$$' EXIT
status=0
for test in 0 2 8 13 15 100 101; do
    judge 1 "$test" || judge 2 "$test" || status=1
done
exit $status
