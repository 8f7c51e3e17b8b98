# graph_test.sh: `accel graph`: what it shows of a dumped graph, and what it refuses. Case B98: what the
# library dumps is read back here.
. "$SOURCE_DIR/tests/cli/common.sh"

expect 0 "$ACCEL" graph --help
has "Usage: accel graph"
refused 2 "no file" "$ACCEL" graph
refused 2 "other.json" "$ACCEL" graph one.json other.json
refused 2 "--nonsense" "$ACCEL" graph --nonsense
refused 1 "missing.json" "$ACCEL" graph missing.json

cat > diamond.json << 'END'
{"format": "accel-graph", "version": 1, "device": "cpu:0", "nodes": [
  {"node": 0, "kind": "fill", "level": 0, "dependencies": [], "size": 64, "pattern": "00"},
  {"node": 1, "kind": "kernel", "level": 1, "dependencies": [0], "name": "left \"side\"",
   "grid": [4, 1, 1], "block": [64, 1, 1]},
  {"node": 2, "kind": "copy", "level": 1, "dependencies": [0], "direction": "device to host",
   "size": 32},
  {"node": 3, "kind": "child", "level": 2, "dependencies": [1], "nodes": [
    {"node": 0, "kind": "empty", "level": 0, "dependencies": []},
    {"node": 1, "kind": "callback", "level": 1, "dependencies": [0]}]},
  {"node": 4, "kind": "event_record", "level": 3, "dependencies": [2, 3]}]}
END
expect 0 "$ACCEL" graph diamond.json
has "A graph of cpu:0: 5 nodes in 4 levels"
has 'left "side", 4 x 1 x 1 blocks of 64 x 1 x 1'
has "device to host, 32 bytes"
has "3.1 callback"
has "2, 3"
has "Critical path, 5 of 6 nodes: 0 -> 1 -> 3 -> 4"

expect 0 "$ACCEL" graph --json diamond.json
same "$(json critical_path.2)" 3 "the critical path"
same "$(json nodes_with_children)" 6 "the nodes with those of children"
same "$(json levels.1.1)" 2 "the second node of a level"

printf '{"format": "accel-graph", "version": 1, "device": "cpu:0", "nodes": []}' > empty.json
expect 0 "$ACCEL" graph empty.json
has "0 nodes in 0 levels"
expect 0 "$ACCEL" graph --json empty.json
same "$(json nodes)" 0 "an empty graph"

# What is no dump is refused, and says why.
bad() {
    printf '%s' "$2" > bad.json
    refused 1 "$1" "$ACCEL" graph bad.json
}
bad "JSON" '{"format": '
bad "accel-graph" '[]'
bad "accel-graph" '{"format": "other"}'
bad "version" '{"format": "accel-graph", "version": 2, "nodes": []}'
head='{"format": "accel-graph", "version": 1, "nodes": '
bad "no list of nodes" '{"format": "accel-graph", "version": 1}'
bad "no known kind" "$head[{}]}"
bad "no known kind" "$head[7]}"
bad "numbered" "$head[{\"node\": 1, \"kind\": \"fill\", \"dependencies\": []}]}"
bad "no list of dependencies" "$head[{\"node\": 0, \"kind\": \"fill\"}]}"
bad "come before" "$head[{\"node\": 0, \"kind\": \"fill\", \"dependencies\": [0]}]}"
bad "come before" "$head[{\"node\": 0, \"kind\": \"fill\", \"dependencies\": [-1]}]}"
bad "come before" "$head[{\"node\": 0, \"kind\": \"fill\", \"dependencies\": [\"x\"]}]}"
deep=$(awk 'BEGIN { for (i = 0; i < 70; i++) printf "[{\"node\": 0, \"kind\": \"child\", \"dependencies\": [], \"nodes\": ";
                    printf "[]"; for (i = 0; i < 70; i++) printf "}]" }')
bad "64 deep" "$head$deep}"

expect 1 "$ACCEL" graph --json missing.json
case $(json error) in *missing.json*) ;; *) fail "the error does not name the file" ;; esac

# A long chain takes time in proportion to its length (0.9 s of processor time where it was measured), not to
# its square.
awk 'BEGIN {
    printf "{\"format\": \"accel-graph\", \"version\": 1, \"device\": \"cpu:0\", \"nodes\": ["
    for (i = 0; i < 200000; i++)
        printf "%s{\"node\": %d, \"kind\": \"empty\", \"level\": %d, \"dependencies\": [%s]}", \
            i ? "," : "", i, i, i ? i - 1 : ""
    print "]}"
}' > chain.json
expect 0 timeout 30 "$ACCEL" graph chain.json
has "200000 nodes in 200000 levels"

finish
