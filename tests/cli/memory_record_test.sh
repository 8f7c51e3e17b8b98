# memory_record_test.sh: what accel records, `accel memory` reads: the same from a pickle and from JSON, exact
# to the byte, and it can be replayed.
. "$SOURCE_DIR/tests/cli/common.sh"

expect 0 "$BUILD_DIR/tests/snapshot/record_history" known.pickle known.json
for form in json pickle; do
    expect 0 "$ACCEL" memory report --json known.$form
    # 40 blocks of 10,000 bytes and one of 5,000,000; 10,240 and 5,000,192 with rounding
    same "$(json total.requested) $(json total.active)" "5400000 5409792" "live bytes in $form"
    same "$(json live.0.bytes) $(json live.0.blocks)" "5000000 1" "the large block in $form"
    same "$(json traffic.0.allocations)" 1 "traffic in $form"
    same "$(json history.0.device_name) $(json history.0.events_lost)" "cpu:0 0" "history in $form"
    same "$(json history.0.peak_live) $(json history.0.live_at_start)" "10410000 0" "peak in $form"
    same "$(json history.0.streams)" 3 "streams in $form"
    same "$(json history.0.actions.alloc) $(json history.0.actions.free_requested)" "43 2" "events in $form"
    sed '/"file"/d' .out > said.$form
done
cmp -s said.json said.pickle || fail "the pickle and the JSON say different things"
expect 0 "$ACCEL" memory report known.pickle
has "cpu:0"
has "take < main" # who asked, by name
for mode in growable fixed; do
    expect 0 "$ACCEL" memory replay --json --$mode --from cpu:0 known.pickle
    same "$(json peak_live) $(json streams)" "10410000 3" "the history once more, $mode"
    [ "$(json peak_reserved)" -ge 10410000 ] || fail "reserved less than was live, $mode"
done
refused 2 "no device of the snapshot" "$ACCEL" memory replay --from cpu:1x known.pickle

finish
