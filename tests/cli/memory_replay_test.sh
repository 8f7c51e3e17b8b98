# memory_replay_test.sh: `accel memory replay`: histories go through the allocator, and its figures come back.
. "$SOURCE_DIR/tests/cli/common.sh"

make_trace=$BUILD_DIR/tests/snapshot/make_trace

# ---- usage ----

expect 0 "$ACCEL" memory replay --help
has "Usage: accel memory replay"
refused 2 "not 0" "$ACCEL" memory replay
refused 2 "not 2" "$ACCEL" memory replay a b
refused 2 "exclude" "$ACCEL" memory replay --growable --fixed a
for option in "--conf a:1" "--from 0" "-d cpu"; do
    # shellcheck disable=SC2086
    refused 2 "twice" "$ACCEL" memory replay $option $option a
done
refused 1 "cannot be opened" "$ACCEL" memory replay nosuch
expect 1 "$ACCEL" memory replay --json nosuch
case $(json error) in *nosuch*) ;; *) fail "no error in JSON" ;; esac

# ---- a history of a few events ----

event() { # ACTION ADDRESS SIZE [STREAM]
    printf '{"action":"%s","addr":%d,"size":%d,"stream":%d}' "$1" "$2" "$3" "${4:-0}"
}
{
    printf '{"segments":[{"address":1,"total_size":4096,"blocks":['
    printf '{"address":1,"size":4096,"requested_size":4000,"state":"active_allocated"}]}],'
    printf '"device_traces":[[],['
    event alloc 4096 1000000 && printf ,
    event alloc 8192 30000000 7 && printf ,
    event free_requested 4096 1000000 && printf ,
    event free_completed 4096 1000000 && printf ,
    event free_requested 8192 30000000 7 && printf ,
    event alloc 4096 20000000 && printf ,
    event free_completed 8192 30000000 7 && printf ,
    event free_requested 5 600 && printf ,
    event snapshot 0 1
    printf ']]}\n'
} > few.json
expect 0 "$ACCEL" memory replay --json few.json
same "$(json events) $(json streams) $(json blocks)" "9 2 4" "events, streams, blocks"
same "$(json live_at_start) $(json peak_live)" "600 31000600" "live"
same "$(json device) $(json recorded_reserved) $(json repaired)" "cpu:0 null 0" "the rest"
# The two large ones are never there together but for a free that is not complete.
[ "$(json peak_reserved)" -ge 51000600 ] || fail "memory was reused before its stream had passed"
[ "$(json driver_calls)" -ge 2 ] || fail "driver calls"
expect 0 "$ACCEL" memory replay few.json
for word in events "peak live" "peak reserved" ratio "driver calls" seconds; do
    has "$word"
done
[ ! -s .err ] || fail "replay says something on standard error"

# settings
for mode in growable fixed; do
    expect 0 "$ACCEL" memory replay --json --$mode few.json
    case $mode in growable) value=True ;; *) value=False ;; esac
    same "$(json conf)" "expandable_segments:$value" "settings of --$mode"
    refused 2 "leave one out" "$ACCEL" memory replay --$mode --conf expandable_segments:True few.json
    expect 0 "$ACCEL" memory replay --json --$mode --conf max_split_size_mb:64 few.json
    same "$(json conf)" "max_split_size_mb:64,expandable_segments:$value" "settings of --conf and --$mode"
done
expect 0 env ACCEL_MASK=cpu:virtual "$ACCEL" memory replay --json --growable few.json
says "cannot map memory in parts"
expect 2 "$ACCEL" memory replay --conf nosuch:1 few.json
says nosuch
expect 0 env ACCEL_ALLOC_CONF=max_split_size_mb:32 "$ACCEL" memory replay --json few.json
same "$(json conf)" max_split_size_mb:32 "settings of the variable"
expect 0 env ACCEL_ALLOC_CONF=nosuch "$ACCEL" memory replay --json --conf "" few.json
expect 1 env ACCEL_ALLOC_CONF=nosuch "$ACCEL" memory replay few.json
says ACCEL_ALLOC_CONF

# which device's history, and on which device
refused 1 "no history" "$ACCEL" memory replay --from 0 few.json
refused 1 "no history" "$ACCEL" memory replay --from 2 few.json
refused 2 "--from" "$ACCEL" memory replay --from x few.json
expect 0 "$ACCEL" memory replay --from 1 few.json
event alloc 1 1 > one
printf '{"device_traces":[[%s],[%s]]}' "$(cat one)" "$(cat one)" > two.json
refused 1 "choose one with --from" "$ACCEL" memory replay two.json
expect 0 "$ACCEL" memory replay --from 1 two.json
printf '{"segments":[]}' > none.json
refused 1 "no history" "$ACCEL" memory replay none.json
expect 0 env ACCEL_CPU_DEVICES=2 "$ACCEL" memory replay --json -d cpu:1 few.json
same "$(json device)" cpu:1 "the device"
refused 1 "valid here" "$ACCEL" memory replay -d nosuch few.json

# events that contradict each other are repaired, and said
printf '{"device_traces":[[%s,%s]]}' "$(event alloc 1 10)" "$(event alloc 1 20)" > odd.json
expect 0 "$ACCEL" memory replay odd.json
says "contradict"
expect 0 "$ACCEL" memory replay --json odd.json
same "$(json repaired) $(json peak_live)" "1 20" "a free that is missing"

# more than there is: what failed is said, in the allocator's words
printf '{"device_traces":[[%s]]}' "$(event alloc 1 4611686018427387904)" > huge.json
expect 1 "$ACCEL" memory replay huge.json
says "step 1 of 1, a block of 4.0 EiB"
{
    printf '{"device_traces":[['
    i=0
    while [ $i -lt 1025 ]; do
        [ $i = 0 ] || printf ,
        event alloc $((i + 1)) 1 $i
        i=$((i + 1))
    done
    printf ']]}'
} > streams.json
refused 1 "more than 1024 streams" "$ACCEL" memory replay streams.json

# ---- histories with many streams ----

# plausible NAME: peaks and ratio of the last replay fit each other.
plausible() {
    live=$(json peak_live)
    reserved=$(json peak_reserved)
    [ "$reserved" -ge "$live" ] || fail "$1: $reserved reserved for $live live"
    [ "$reserved" -le $((live * 3)) ] || fail "$1: $reserved reserved for $live live"
    same "$(json repaired)" 0 "repaired in $1"
}

"$make_trace" server 2000 7 > again.json
"$make_trace" server 2000 7 | cmp -s - again.json || fail "a description gives two histories"
for kind in server pipeline; do
    "$make_trace" $kind 8000 > $kind.json
    for mode in growable fixed; do
        expect 0 "$ACCEL" memory replay --json --$mode $kind.json
        plausible "$kind, $mode"
        [ "$(json streams)" -ge 7 ] || fail "streams of $kind"
    done
done

# ---- real ones, held against what PyTorch's allocator reserved in those very runs ----

# below A B WHAT: A is less than B, as numbers with a point.
below() {
    checks=$((checks + 1))
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }' || fail "$3: $1 is not below $2"
}

shared=${ACCEL_SHARED:-$SOURCE_DIR/../shared}/snapshots
if [ -d "$shared" ]; then
    # calls: of best fit with PyTorch's constants
    while read -r name calls; do
        for mode in fixed growable; do
            expect 0 "$ACCEL" memory replay --json --$mode "$shared/$name.pickle"
            plausible "$name, $mode"
            echo "$name, $mode: ratio $(json ratio) (recorded $(json recorded_ratio))," \
                "$(json driver_calls) driver calls in $(json events) events, $(json seconds) s"
            if [ $mode = fixed ]; then
                below "$(json peak_reserved)" "$(json recorded_reserved)" "reserved, $name"
                below "$(json driver_calls)" $((calls + 1)) "driver calls, $name"
            else
                below "$(json ratio)" 1.0201 "ratio with growable segments, $name"
                below "$(json driver_calls)" "$(($(json events) * 20 / 1000 + 1))" "driver calls, $name"
            fi
        done
    done << 'END'
cnn-training 8
transformer-128-training 96
transformer-1024-inference 14
transformer-xl-full-step 783
END
else
    echo "no snapshots of PyTorch here: none is replayed"
fi

finish
