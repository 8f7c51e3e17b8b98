# memory_report_test.sh: `accel memory report`: what it says of snapshots, of which a person made some and
# PyTorch the others, and what it refuses.
. "$SOURCE_DIR/tests/cli/common.sh"

corpus=$SOURCE_DIR/tests/fuzz/corpus

# ---- usage ----

expect 0 "$ACCEL" memory --help
has "Usage: accel memory report"
has "memory replay"
expect 0 "$ACCEL" memory report --help
has "Usage: accel memory report"
refused 2 "use report or replay" "$ACCEL" memory
refused 2 "\"show\"" "$ACCEL" memory show
refused 2 "--frobnicate" "$ACCEL" memory --frobnicate
refused 2 "--frobnicate" "$ACCEL" memory report --frobnicate x
refused 2 "not 0" "$ACCEL" memory report
refused 2 "not 2" "$ACCEL" memory report a b
refused 2 "twice" "$ACCEL" memory report --top 1 --top 2 x
for value in "" x -1 1x 1000001 99999999999999999999; do
    refused 2 "--top" "$ACCEL" memory report "--top=$value" x
done

# ---- one snapshot in every form that it can have ----

expect 0 "$ACCEL" memory report --json "$corpus/snapshot/json"
same "$(json total.reserved) $(json total.segments) $(json total.blocks)" "23068672 2 4" total
same "$(json total.active) $(json total.allocated)" "20973056 20972544" "active and allocated"
same "$(json total.requested)" 20001200 requested
same "$(json total.in_holes) $(json total.releasable)" "2095616 0" "what is free"
same "$(json pools) $(json pools.0.kind) $(json pools.1.is_expandable)" "2 small true" pools
same "$(json pools.1.pool.0),$(json pools.1.pool.1)" 1,2 "a private pool"
same "$(json holes) $(json holes.0.size) $(json holes.0.address)" "1 2095616 139637976729088" holes
same "$(json live.0.bytes) $(json live.0.blocks)" "20001000 2" "the stack of live blocks"
same "$(json live.0.frames.0.filename):$(json live.0.frames.0.line)" step.py:7 "its first frame"
same "$(json traffic.0.bytes) $(json traffic.0.allocations)" "20004000 2" traffic
same "$(json history) $(json history.0.events) $(json history.0.streams)" "1 9 2" history
same "$(json history.0.actions.alloc) $(json history.0.actions.oom) $(json history.0.actions.other)" "2 1 1" actions
same "$(json history.0.live_at_start)" 1200 "live before the history"
same "$(json settings.max_split_size) $(json settings.expandable_segments)" "-1 true" settings
sed '/"file"/d' .out > wanted
for form in protocol0 protocol1 protocol2 protocol3 protocol4 protocol5 optimized; do
    expect 0 "$ACCEL" memory report --json "$corpus/snapshot/$form"
    sed '/"file"/d' .out | cmp -s - wanted || fail "$form differs from JSON"
done
expect 0 "$ACCEL" memory report "$corpus/snapshot/protocol4"
for title in reserved Pools "Largest holes" "Stacks by live bytes" "Stacks by traffic" History Settings; do
    has "$title"
done
has "large, growable"
has "step step.py:7"
[ ! -s .err ] || fail "report says something on standard error"
expect 0 "$ACCEL" memory report --top 0 --json "$corpus/snapshot/protocol4"
same "$(json holes) $(json live) $(json traffic)" "0 0 0" "--top 0"

# segments alone, as PyTorch before 2.1 gave them
expect 0 "$ACCEL" memory report --json "$corpus/snapshot/old"
same "$(json total.requested) $(json history)" "812 0" "an old snapshot"
expect 0 "$ACCEL" memory report "$corpus/snapshot/old"
has "not recorded"

# blocks that do not make up their segment
echo '{"segments":[{"address":4096,"total_size":1024,"blocks":[{"size":512,"state":"inactive"}]}]}' > odd.json
expect 0 "$ACCEL" memory report odd.json
says "do not add up"

# ---- refusals ----

refused 1 "cannot be opened" "$ACCEL" memory report nosuch
refused 1 "Is a directory" "$ACCEL" memory report .
refused 1 "empty" "$ACCEL" memory report /dev/null
expect 1 "$ACCEL" memory report --json nosuch
case $(json error) in *nosuch*) ;; *) fail "no error in JSON" ;; esac
printf '\200\004\225' > cut
refused 1 "cut off" "$ACCEL" memory report cut
printf '\200\002cposix\nsystem\nU\004echo\205R.' > evil
refused 1 "opcode GLOBAL at byte 2 would import" "$ACCEL" memory report evil
echo '{"segments": [' > cut.json
refused 1 "no JSON" "$ACCEL" memory report cut.json
echo '{"segments": [{"address": 1, "total_size": "2"}]}' > kind.json
refused 1 "segments[0].total_size is a text, not an integer" "$ACCEL" memory report kind.json
echo '{"other": 1}' > other.json
refused 1 "neither segments nor device_traces" "$ACCEL" memory report other.json
printf 'I1\n.' > number
refused 1 "the whole is an integer, not a dictionary" "$ACCEL" memory report number
for file in "$corpus"/pickle/*; do
    "$ACCEL" memory report "$file" > .out 2> .err
    same $? 1 "status for ${file##*/}"
done

# memory that runs out is said. Sanitizers reserve terabytes, so not under them.
if ! nm -D "$ACCEL" | grep -qE '__(a|t|ub)san'; then
    head -c 67108864 /dev/zero | tr '\0' '}' > large
    (ulimit -v 200000 && exec "$ACCEL" memory report large) > .out 2> .err
    same $? 1 "status where memory runs out"
    says "out of memory"
    rm large
fi

# ---- snapshots that PyTorch made ----

shared=${ACCEL_SHARED:-$SOURCE_DIR/../shared}/snapshots
if [ -d "$shared" ]; then
    while read -r name events start live reserved; do
        expect 0 "$ACCEL" memory report --json "$shared/$name.pickle"
        same "$(json history.0.events)" "$events" "events of $name"
        same "$((($(json history.0.live_at_start) * 10 + 524288) / 1048576))" "$start" "live at the start of $name"
        same "$((($(json history.0.peak_live) * 10 + 524288) / 1048576))" "$live" "peak of $name"
        same "$(($(json total.reserved) / 1048576))" "$reserved" "reserved in $name"
        expect 0 "$ACCEL" memory report "$shared/$name.pickle"
    done << 'END'
cnn-training 5803 84 1032 128
transformer-128-training 19136 48593 66884 6900
transformer-1024-inference 3840 16229 27441 3056
transformer-xl-full-step 19342 129972 522639 58280
END
else
    echo "no snapshots of PyTorch here: their figures are not compared"
fi

finish
