# alloc_conf_fork_test.sh: a wrong ACCEL_ALLOC_CONF hinders no question, and is told where memory is needed
# (case B70).
. "$SOURCE_DIR/tests/cli/common.sh"

floats 1 2 3 4 | npy a.npy '<f4' '(4,)'
floats 1 2 3 4 | npy b.npy '<f4' '(4,)'

run() {
    expect "$1" "$ACCEL" run add.cl -g 4 -l 4 in:a.npy in:b.npy out:sum.npy:f32[4]
}

for text in guard guard: guard:True, 'roundup_power2_divisions:[' nonsense:1 guard:1 \
            max_split_size_mb:99999999999999999999 max_split_size_mb:-1 ' ' 'café:True' \
            "$(head -c 65536 /dev/zero | tr '\0' x)"; do
    export ACCEL_ALLOC_CONF="$text"
    expect 0 "$ACCEL" list
    run 1
    says "ACCEL_ALLOC_CONF: "
    says ", at byte "
    [ ! -e sum.npy ] || fail "a result in spite of the failure"
done

export ACCEL_ALLOC_CONF=guard:maybe
expect 1 "$ACCEL" doctor
has "'guard' is True or False, not 'maybe', at byte 7 of 'guard:maybe'"

export ACCEL_ALLOC_CONF='guard:True, poison:True'
expect 0 "$ACCEL" doctor
has "is in effect: guard:True, poison:True"
run 0
same "$(values f4 sum.npy)" "2 4 6 8" "a sum under guard and poison"

finish
